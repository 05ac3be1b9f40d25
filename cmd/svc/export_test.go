package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/service"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/parcel"
)

// TestExportsOfAProcess moves a workspace by commands, beside a service in a process of its own.
func TestExportsOfAProcess(t *testing.T) {
	k := newKeeper(t)
	file := filepath.Join(t.TempDir(), "ada.export")
	if out := mustSVC(t, "export", "ada/personal", "--data", k.data, "-o", file); !strings.Contains(out, file+": ada/personal as of ") {
		t.Errorf("export says %q", out)
	}
	t.Run("copy", func(t *testing.T) { k.imports(t, file, "ada/copy") })
	t.Run("encrypted", k.exportsEncrypted)
	t.Run("refused", func(t *testing.T) { k.refusesExports(t, file) })
	t.Run("killed import", func(t *testing.T) { k.outlivesImports(t, file) })
}

// imports makes a workspace, which has all that there was.
func (k *keeper) imports(t *testing.T, file, address string, args ...string) {
	t.Helper()
	out := mustSVC(t, append([]string{"import", file, address, "--data", k.data, "--json"}, args...)...)
	var made parcel.Unpacked
	_, answer, _ := strings.Cut(out, "{") // behind what it says of its progress
	if err := json.Unmarshal([]byte("{"+answer), &made); err != nil || made.Workspace != address || made.Projects != 1 || made.Files != 1 {
		t.Errorf("import says %s, %v", out, err)
	}
	cookie := send(t, "POST", k.Platform+"/api/auth/password/login", http.Header{"Origin": {k.Platform}}, `{"email":"ada@example.com","password":"a calm and long password"}`).cookie
	got := send(t, "GET", k.Agents+"/api/workspaces/"+address+"/projects/site/files/large", http.Header{"Cookie": {cookie}}, "")
	if got.status != 200 || len(got.body) != 16<<19 {
		t.Errorf("its file: %d, %d bytes", got.status, len(got.body))
	}
}

func (k *keeper) exportsEncrypted(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, identity := filepath.Join(folder, "closed"), writeFile(t, filepath.Join(folder, "key"), key.String()+"\n")
	mustSVC(t, "export", "ada/personal", "--data", k.data, "-o", file, "--encrypt", key.Recipient().String())
	if out, err := svc(t, "import", file, "ada/opened", "--data", k.data); err == nil || !strings.Contains(out, "encrypted") {
		t.Errorf("without a key: %v %s", err, out)
	}
	k.imports(t, file, "ada/opened", "--identity", identity)
}

func (k *keeper) refusesExports(t *testing.T, file string) {
	folder := t.TempDir()
	whole := filepath.Join(folder, "whole.backup")
	mustSVC(t, "backup", "--data", k.data, "-o", whole)
	for _, row := range []struct {
		says string
		args []string
	}{
		{"there is no workspace ada/none", []string{"export", "ada/none", "--data", k.data, "-o", filepath.Join(folder, "none")}},
		{"is no workspace: name it as USER/BUSINESS", []string{"export", "ada", "--data", k.data}},
		{"is there already", []string{"export", "ada/personal", "--data", k.data, "-o", file}},
		{"USER/BUSINESS is missing", []string{"import", file, "--data", k.data}},
		{"No account is called nobody", []string{"import", file, "nobody/copy", "--data", k.data}},
		{"There is, or was, a workspace of this name", []string{"import", file, "ada/copy", "--data", k.data}},
		{"is restored with svc restore", []string{"import", whole, "ada/other", "--data", k.data}},
		{"svc import takes it", []string{"restore", file, filepath.Join(folder, "restored")}},
	} {
		if out, err := svc(t, row.args...); err == nil || !strings.Contains(out, row.says) {
			t.Errorf("svc %v: %v, %q, want %q", row.args, err, out, row.says)
		}
	}
}

// outlivesImports kills the service while a workspace comes in: nothing of it is there afterwards, and it is imported again.
func (k *keeper) outlivesImports(t *testing.T, file string) {
	o, err := service.Operate(t.Context(), config.Config{DataDir: k.data}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	at := stall{make(chan struct{}), make(chan struct{})}
	err = parcel.Carry(t.Context(), archive.FileOpener(file, nil), k.data, func(backup.Restoring) {}, func(r io.Reader) error {
		half := io.LimitReader(r, 4<<20)
		ended := make(chan error, 1)
		go func() {
			_, err := o.Import(t.Context(), parcel.Address{Username: "ada", Business: "half"}, io.MultiReader(half, at))
			ended <- err
		}()
		<-at.reached
		k.kill()
		close(at.until)
		return <-ended
	})
	if err == nil {
		t.Error("half of it was imported")
	}
	if out, err := svc(t, "import", file, "ada/half", "--data", k.data); err == nil || !strings.Contains(out, "start it, and try again") {
		t.Errorf("without a service: %v %s", err, out)
	}
	k.start(t)
	cookie := send(t, "POST", k.Platform+"/api/auth/password/login", http.Header{"Origin": {k.Platform}}, `{"email":"ada@example.com","password":"a calm and long password"}`).cookie
	if got := send(t, "GET", k.Agents+"/api/workspaces/ada/half", http.Header{"Cookie": {cookie}}, ""); got.status != 404 {
		t.Errorf("what was killed is there: %d %s", got.status, got.body)
	}
	k.imports(t, file, "ada/half")
}

// stall tells that all before it was read, and then waits.
type stall struct{ reached, until chan struct{} }

func (s stall) Read([]byte) (int, error) {
	close(s.reached)
	<-s.until
	return 0, io.ErrUnexpectedEOF
}
