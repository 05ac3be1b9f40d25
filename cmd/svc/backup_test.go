package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/backup"
)

// keeper is a service in a process of its own with something to keep.
type keeper struct {
	*process
	data string
}

// newKeeper starts a service with a file that is larger than what pipes and sockets hold.
func newKeeper(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{data: filepath.Join(t.TempDir(), "data")}
	k.start(t)
	cookie := send(t, "POST", k.Platform+"/api/auth/password/register", http.Header{"Origin": {k.Platform}},
		`{"email":"ada@example.com","password":"a calm and long password","username":"ada"}`).cookie
	header := http.Header{"Origin": {k.Agents}, "Cookie": {cookie}}
	for _, q := range [][3]string{
		{"POST", "/projects", `{"slug":"site","name":"Site"}`},
		{"PUT", "/projects/site/files/large", string(bytes.Repeat([]byte("0123456789abcdef"), 1<<19))},
	} {
		if res := send(t, q[0], k.Agents+"/api/workspaces/ada/personal"+q[1], header, q[2]); res.status/100 != 2 {
			t.Fatalf("%s: %d %s", q[1], res.status, res.body)
		}
	}
	return k
}

func (k *keeper) start(t *testing.T) {
	t.Helper()
	k.process = launch(t, nil, "serve", "--data", k.data, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
}

// svc runs a command, and returns what it said.
func svc(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "svc", args...).CombinedOutput()
	return string(out), err
}

// mustSVC runs a command that succeeds.
func mustSVC(t *testing.T, args ...string) string {
	t.Helper()
	out, err := svc(t, args...)
	if err != nil {
		t.Fatalf("svc %v: %v: %s", args, err, out)
	}
	return out
}

// TestBackupsOfAProcess takes backups of one service in ways that only processes can be treated in.
func TestBackupsOfAProcess(t *testing.T) {
	k := newKeeper(t)
	t.Run("encrypted", k.encrypts)
	t.Run("doctor", k.showsItsAge)
	t.Run("killed restore", k.outlivesRestores)
	t.Run("killed backup", k.outlivesBackups)
}

// encrypts makes a chain that only one key opens.
func (k *keeper) encrypts(t *testing.T) {
	folder := t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	identity := writeFile(t, at("key"), "# of ada\n"+key.String()+"\n")
	mustSVC(t, "backup", "--data", k.data, "-o", at("one"), "--encrypt", key.Recipient().String())
	out := mustSVC(t, "backup", "--data", k.data, "-o", at("two"), "--since", at("one"), "--identity", identity, "--encrypt", key.Recipient().String())
	if !strings.Contains(out, "new since bkp_") {
		t.Errorf("the second says %q", out)
	}
	one, err := os.Stat(at("one"))
	if err != nil || one.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", one, err)
	}
	if out, err := svc(t, "restore", at("one"), at("none")); err == nil || !strings.Contains(out, "encrypted") {
		t.Errorf("without a key: %v %s", err, out)
	}
	if out := mustSVC(t, "restore", "--identity", identity, at("two"), at("one"), at("restored")); !strings.Contains(out, at("restored")+": bkp_") {
		t.Errorf("restore says %q", out)
	}
	if out, err := svc(t, "backup", "--data", k.data, "-o", at("one")); err == nil || !strings.Contains(out, "is there already") {
		t.Errorf("over another: %v %s", err, out)
	}
	mustSVC(t, "audit", "verify", "--data", at("restored"))
}

// outlivesBackups kills the command, and then the service, while a backup is on its way.
func (k *keeper) outlivesBackups(t *testing.T) {
	file := filepath.Join(t.TempDir(), "whole")

	command, out := hangingBackup(t, k)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	_ = command.Wait() // killed
	if !eventually(func() bool { _, err := svc(t, "backup", "--data", k.data, "-o", file); return err == nil }) {
		t.Fatalf("no backup can be made after one was killed: %s", k.said())
	}

	command, out = hangingBackup(t, k)
	k.kill()
	if _, err := os.Stat(filepath.Join(k.data, "backup.tmp")); err != nil {
		t.Errorf("the service was not in the middle of it: %v", err)
	}
	_, _ = io.Copy(io.Discard, out)
	if command.Wait() == nil {
		t.Error("the command takes half a backup for one")
	}
	k.start(t)
	if _, err := os.Stat(filepath.Join(k.data, "backup.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy of the killed one stays: %v", err)
	}
	mustSVC(t, "backup", "--data", k.data, "-o", file+"-2")
}

// hangingBackup is svc backup -o - whose reader has read a little, and waits.
func hangingBackup(t *testing.T, k *keeper) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	// What hardly shrinks fills the pipe.
	if err := os.WriteFile(filepath.Join(k.data, "root-sandbox/ada/personal/projects/site/large"), noise(8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("svc", "backup", "--data", k.data, "-o", "-")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
		t.Fatalf("svc backup: %v", err)
	}
	return cmd, out
}

// noise is what cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// beStuck is svc restore ARCHIVE DIR that stands still when it has written a part, until its input ends.
func beStuck() {
	opened := 0
	half := archive.Opener{Name: os.Args[1], Open: func() (io.ReadCloser, error) {
		f, err := os.Open(os.Args[1])
		if err != nil {
			return nil, err
		}
		stat, err := f.Stat()
		if opened++; err != nil || opened < 3 { // its head, its proof
			return f, err
		}
		return io.NopCloser(io.MultiReader(io.LimitReader(f, stat.Size()/2), stuck{})), nil
	}}
	_, err := backup.Restore(context.Background(), []archive.Opener{half}, os.Args[2], func(backup.Restoring) {})
	fmt.Println(err)
}

// stuck says so, and waits.
type stuck struct{}

func (stuck) Read([]byte) (int, error) {
	fmt.Println("stuck")
	_, err := io.Copy(io.Discard, os.Stdin)
	return 0, errors.Join(err, io.ErrUnexpectedEOF)
}

// outlivesRestores kills a restore after it has begun to write: its folder says so, and nothing starts on it.
func (k *keeper) outlivesRestores(t *testing.T) {
	folder := t.TempDir()
	whole, into := filepath.Join(folder, "whole"), filepath.Join(folder, "into")
	mustSVC(t, "backup", "--data", k.data, "-o", whole)
	cmd := exec.Command("svc-stuck", whole, into)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("stuck"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "stuck" {
		t.Errorf("the restore did not get as far: %q %v", said, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for _, args := range [][]string{
		{"serve", "--data", into, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"},
		{"restore", whole, into},
		{"migrate", "--data", into},
	} {
		if out, err := svc(t, args...); err == nil || !strings.Contains(out, "is not finished") {
			t.Errorf("svc %v: %v %s", args, err, out)
		}
	}
	if err := os.RemoveAll(into); err != nil {
		t.Fatal(err)
	}
	mustSVC(t, "restore", whole, into)
}

// TestASecondCommandLeavesTheFirstItsFile writes to one path twice at once, and behind commands that failed or were killed.
func TestASecondCommandLeavesTheFirstItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "monday.backup")
	writer := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	wants := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if string(text) != want || want != "" && err != nil {
			t.Errorf("there is %q, %v, want %q", text, err, want)
		}
		if _, err := os.Lstat(path + ".part"); err == nil {
			t.Error("a part is left")
		}
	}
	failed := errors.New("failed")
	if err := writeWhole(path, func(w io.Writer) error { return errors.Join(writer("half")(w), failed) }); !errors.Is(err, failed) {
		t.Error(err)
	}
	wants("")
	writeFile(t, path+".part", "what a command that was killed has left")
	err := writeWhole(path, func(w io.Writer) error {
		if err := writer("first")(w); err != nil {
			return err
		}
		if err := writeWhole(path, writer("second")); err == nil || !strings.Contains(err.Error(), "another command writes "+path) {
			t.Errorf("meanwhile: %v", err)
		}
		return writer(" and whole")(w)
	})
	if err != nil {
		t.Error(err)
	}
	wants("first and whole")
	if err := writeWhole(path, writer("third")); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("afterwards: %v", err)
	}
	wants("first and whole")
}

// TestABackupBeforeAMigrationIsOfTheVersionBefore takes the tables of a folder back by one version.
func TestABackupBeforeAMigrationIsOfTheVersionBefore(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	mustSVC(t, "migrate", "--data", data)
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(data, "svc.db"), sqldb.Options{})
	if err == nil {
		err = errors.Join(db.Do(t.Context(), "go back", "DELETE FROM offer_schema WHERE version_id > 0"), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := svc(t, "backup", "--data", data, "-o", filepath.Join(t.TempDir(), "x"))
	if err == nil || !strings.Contains(out, "make the backup with the version before") || strings.Contains(out, "svc migrate first") {
		t.Errorf("backup: %v %s", err, out)
	}
	if out, err := svc(t, "audit", "verify", "--data", data); err == nil || !strings.Contains(out, "run svc migrate first") {
		t.Errorf("another command: %v %s", err, out)
	}
}

// showsItsAge has doctor look at the last backup.
func (k *keeper) showsItsAge(t *testing.T) {
	folder := t.TempDir()
	look := func() string {
		t.Helper()
		cmd := exec.Command("svc", "doctor", "--data", k.data)
		cmd.Env = append(os.Environ(), "SVC_BACKUP_PATH="+folder)
		out, _ := cmd.CombinedOutput() // the addresses of this service are those of another configuration
		for line := range strings.Lines(string(out)) {
			if _, rest, _ := strings.Cut(line, " "); strings.HasPrefix(strings.TrimSpace(rest), "backup ") {
				return line
			}
		}
		return fmt.Sprintf("nothing: %s", out)
	}
	if got := look(); !strings.HasPrefix(got, "fail") || !strings.Contains(got, "there is no backup") {
		t.Errorf("without one: %s", got)
	}
	cmd := exec.Command("svc", "backup", "--data", k.data)
	cmd.Env = append(os.Environ(), "SVC_BACKUP_PATH="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("backup: %v %s", err, out)
	}
	if got := look(); !strings.HasPrefix(got, "ok") || !strings.Contains(got, "was written") {
		t.Errorf("with one: %s", got)
	}
	all, err := filepath.Glob(filepath.Join(folder, "svc-*.backup"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	old := time.Now().AddDate(0, 0, -2)
	if err := os.Chtimes(all[0], old, old); err != nil {
		t.Fatal(err)
	}
	if got := look(); !strings.HasPrefix(got, "fail") || !strings.Contains(got, "backup.max_age is 25h") {
		t.Errorf("with an old one: %s", got)
	}
}
