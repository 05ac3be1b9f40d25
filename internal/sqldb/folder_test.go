package sqldb_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestASecondProcessIsRefusedWithThePid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdFolder+"="+path+".d")
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	if want := fmt.Sprintln(other.Process.Pid, "<nil>"); err != nil || said != want {
		t.Fatalf("the other process said %q, %v", said, err)
	}
	_, err = sqldb.Open(t.Context(), "sqlite:"+path, sqldb.Options{})
	var held *sqldb.HeldError
	if !errors.As(err, &held) || held.PID != other.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(other.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	stdin.Close()
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	open(t, "sqlite:"+path)
}

func TestASecondHandleIsRefusedUnderAnyName(t *testing.T) {
	folder := t.TempDir()
	open(t, "sqlite:"+folder+"/svc.db")
	if err := os.Symlink(folder+"/svc.db", folder+"/alias.db"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"svc.db", "alias.db"} {
		_, err := sqldb.Open(t.Context(), "sqlite:"+folder+"/"+name, sqldb.Options{})
		var held *sqldb.HeldError
		if !errors.As(err, &held) || held.PID != os.Getpid() {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestASecondHandleInAGivenFolderIsRefused(t *testing.T) {
	folder, err := sqldb.OpenFolder(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	address, o := "sqlite:"+folder.Path("svc.db"), sqldb.Options{Folder: folder}
	first, err := sqldb.Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	var held *sqldb.HeldError
	if _, err := sqldb.Open(t.Context(), address, o); !errors.As(err, &held) {
		t.Errorf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openWith(t, address, o)
}

func TestTheNodeKeepsItsId(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	var ids [2]string
	for i := range ids {
		folder, err := sqldb.OpenFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		if ids[i], err = folder.Node(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(folder.Close(), folder.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] || !strings.HasPrefix(ids[0], "node_") {
		t.Errorf("got %v", ids)
	}
	if info, err := os.Stat(filepath.Join(path, "node")); err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestAFolderThatWasGivenStaysOpen(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		folder, err := sqldb.OpenFolder(filepath.Join(t.TempDir(), "data"))
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		db := openWith(t, address, sqldb.Options{Folder: folder})
		if err := db.Close(); err != nil || db.Folder() != folder {
			t.Fatal(err)
		}
		if _, err := sqldb.OpenFolder(folder.Path()); err == nil {
			t.Error("the folder was let go")
		}
	})
}

func TestAFolderThatOthersMayChangeIsRefused(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o700: "", 0o750: "", 0o755: "", 0o500: "",
		0o777: "chmod 700 ", 0o770: "chmod 700 ", 0o775: "chmod 700 ", 0o702: "chmod 700 ", 0o777 | os.ModeSticky: "choose a folder of its own",
	} {
		path := filepath.Join(t.TempDir(), "data")
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "lock"), nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		folder, err := sqldb.OpenFolder(path)
		if err == nil {
			err = folder.Close()
		}
		var loose *sqldb.LooseError
		if errors.As(err, &loose) != (want != "") || want != "" && !strings.Contains(err.Error(), want) || want == "" && err != nil {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// A file that is reached by a second name takes a second lock.
func TestADatabaseOfTwoNamesIsRefused(t *testing.T) {
	folder := t.TempDir()
	held := open(t, "sqlite:"+folder+"/svc.db")
	if err := os.Link(folder+"/svc.db", folder+"/link.db"); err != nil {
		t.Fatal(err)
	}
	refused := func(name string) {
		t.Helper()
		if db, err := sqldb.Open(t.Context(), "sqlite:"+folder+"/"+name, sqldb.Options{}); err == nil || !strings.Contains(err.Error(), "has 2 names") {
			t.Errorf("%s: %v, %v", name, db, err)
		}
	}
	refused("link.db")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	refused("svc.db")
	refused("link.db")
	if err := os.Remove(folder + "/link.db"); err != nil {
		t.Fatal(err)
	}
	open(t, "sqlite:"+folder+"/svc.db")
}
