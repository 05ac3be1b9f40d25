package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

var soak = os.Getenv("SVC_SOAK") != ""

// configured is a service that refuses nobody for being fast.
func configured(t *testing.T) config.Config {
	c := servicetest.Config(t)
	c.LimitStreams = 1000
	return c
}

// client asks one service in ada's name.
type client struct {
	served *servicetest.Served
	key    string
	http   *http.Client
}

// ask is an answer from below the workspace: /v1/… of the API, or /api/….
func (c *client) ask(method, path, body string) (status int, header http.Header, text string, err error) {
	r, err := http.NewRequestWithContext(context.Background(), method, c.served.Agents+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(b), err
}

const (
	agents = "/v1/ada/personal/agents/central/"
	files  = "/api/workspaces/ada/personal/projects/site/files/"
)

// take makes a backup of a service, running or not.
func take(t *testing.T, c config.Config, q backup.Wish, base backup.Base) (backup.Made, []byte) {
	t.Helper()
	made, data, err := tryTake(t, c, q, base)
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	return made, data
}

func tryTake(t *testing.T, c config.Config, q backup.Wish, base backup.Base) (backup.Made, []byte, error) {
	t.Helper()
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		return backup.Made{}, nil, err
	}
	defer o.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(o.Backup(t.Context(), q, w)) }()
	var b bytes.Buffer
	made, err := backup.Make(t.Context(), r, &b, base, func(backup.Progress) {})
	r.CloseWithError(io.ErrClosedPipe)
	return made, b.Bytes(), err
}

func opener(data []byte) archive.Opener {
	return archive.Opener{Name: "a backup", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// restore makes a folder of backups, and gives the configuration of a service on it.
func restore(t *testing.T, c config.Config, chain ...[]byte) (config.Config, backup.Restored) {
	t.Helper()
	var all []archive.Opener
	for _, data := range chain {
		all = append(all, opener(data))
	}
	c.DataDir = filepath.Join(t.TempDir(), "restored")
	done, err := backup.Restore(t.Context(), all, c.DataDir, func(backup.Restoring) {})
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	return c, done
}

// state is what a file was at one time.
type state struct {
	tried, acked time.Time
	etag         string // empty: there is none
}

// load is what was asked of a service, and what it acknowledged.
type load struct {
	*client
	t       *testing.T
	mu      sync.Mutex
	said    map[string]map[string]time.Time // instance → text → when it was acknowledged
	files   map[string][]state
	prompts int
	pace    *time.Ticker // of all prompts together
	rest    sync.RWMutex // held while nobody asks for anything
}

// begun waits until somebody may ask.
func (l *load) begun(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-l.pace.C:
	}
	l.rest.RLock()
	return true
}

// prompt talks to one instance after the other, with a picture now and then.
func (l *load) prompt(ctx context.Context, who int) {
	for n := 0; l.begun(ctx); n++ {
		instance, text := fmt.Sprintf("talk-%d-%d", who, n/20), fmt.Sprintf("mark-%d-%d n=1", who, n)
		body := map[string]any{"kind": "user", "body": text}
		if n%3 == 0 {
			picture := append([]byte("\x89PNG\r\n\x1a\n"), noise(rand.IntN(60_000))...)
			body["attachments"] = []any{map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(picture)}}
		}
		data, _ := json.Marshal(body)
		status, _, answer, err := l.ask("POST", agents+instance, string(data))
		l.rest.RUnlock()
		if err != nil || status != http.StatusAccepted {
			l.t.Errorf("prompt: %d %s %v", status, answer, err)
			return
		}
		l.mu.Lock()
		if l.said[instance] == nil {
			l.said[instance] = map[string]time.Time{}
		}
		l.said[instance][text] = time.Now()
		l.prompts++
		l.mu.Unlock()
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// write changes a few files of its own in every way.
func (l *load) write(ctx context.Context, who int) {
	for n := 0; l.begun(ctx); n++ {
		path := fmt.Sprintf("w%d/f%d", who, n%4)
		s := state{tried: time.Now()}
		method, body := "PUT", ""
		if n%9 == 8 {
			method = "DELETE"
		} else {
			body = string(noise(rand.IntN(100_000)))
			sum := sha256.Sum256([]byte(body))
			s.etag = `"` + hex.EncodeToString(sum[:]) + `"`
		}
		l.mu.Lock()
		l.files[path] = append(l.files[path], s)
		at := len(l.files[path]) - 1
		l.mu.Unlock()
		status, _, answer, err := l.ask(method, files+path, body)
		l.rest.RUnlock()
		if err != nil || status/100 != 2 && status != http.StatusNotFound {
			l.t.Errorf("%s %s: %d %s %v", method, path, status, answer, err)
			return
		}
		l.mu.Lock()
		l.files[path][at].acked = time.Now()
		l.mu.Unlock()
	}
}

// asked is how many prompts were acknowledged.
func (l *load) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prompts
}

// begin starts a service, and all who work with it until the function is called.
func begin(t *testing.T, c config.Config, many int) (*load, func()) {
	t.Helper()
	s := servicetest.Start(t, c)
	w := s.SignUp(t, "agents:write", "agents:read", "projects:write", "projects:read")
	l := &load{t: t, client: &client{s, w.Key, &http.Client{Timeout: time.Minute, Transport: servicetest.Client.Transport.(*http.Transport).Clone()}},
		said: map[string]map[string]time.Time{}, files: map[string][]state{}, pace: time.NewTicker(2500 * time.Microsecond)}
	l.http.Transport.(*http.Transport).DisableKeepAlives = false
	l.http.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
	if status, _, answer, err := l.ask("POST", "/api/workspaces/ada/personal/projects", `{"slug":"site","name":"Site"}`); status != 201 {
		t.Fatalf("make project: %d %s %v", status, answer, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for i := range many {
		busy.Go(func() { l.prompt(ctx, i) })
		busy.Go(func() { l.write(ctx, i) })
	}
	return l, func() {
		stop()
		busy.Wait()
		l.pace.Stop()
		l.http.CloseIdleConnections()
	}
}

// holds looks whether a restored service has all that was acknowledged before the moment, and nothing half.
func (l *load) holds(t *testing.T, c config.Config, made backup.Made, until time.Time) {
	t.Helper()
	if made.Misses != 0 || made.Changed != 0 {
		t.Errorf("the backup misses %v and %d more, %d are changed", made.Missing, made.Misses, made.Changed)
	}
	blobsAreWhole(t, c.DataDir)
	s := servicetest.Start(t, c)
	at := &client{s, l.key, l.http}
	for instance, texts := range l.saidBefore(made.At) {
		at.goesOn(t, instance, texts)
	}
	for path, could := range l.filesAt(made.At, until) {
		status, header, text, err := at.ask("GET", files+path, "")
		if err != nil {
			t.Fatal(err)
		}
		got := header.Get("ETag")
		if status == http.StatusNotFound {
			got = ""
		} else if sum := sha256.Sum256([]byte(text)); got != `"`+hex.EncodeToString(sum[:])+`"` {
			t.Errorf("%s: %d, and the content is not what its etag says", path, status)
		}
		if !slices.Contains(could, got) {
			t.Errorf("%s is %q, none of the %d that it could be", path, got, len(could))
		}
	}
	l.http.CloseIdleConnections()
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Errorf("the restored service: %v", err)
	}
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if r, err := o.VerifyAudit(t.Context()); err != nil || !r.OK() {
		t.Errorf("audit: %+v %v", r.Faults, err)
	}
}

// goesOn waits until a conversation holds texts that were acknowledged, of which some waited in its queue, and all of it is settled.
func (c *client) goesOn(t *testing.T, instance string, texts []string) {
	t.Helper()
	var history string
	var err error
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(history, text) })
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, _, history, err = c.ask("GET", agents+instance, ""); err != nil {
			t.Fatal(err)
		}
		if len(missing()) == 0 {
			return
		}
	}
	t.Errorf("%v were acknowledged before the backup, and are not in %s", missing(), instance)
}

// saidBefore is what was acknowledged before a time.
func (l *load) saidBefore(at time.Time) map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string][]string{}
	for instance, texts := range l.said {
		for text, acked := range texts {
			if acked.Before(at) {
				all[instance] = append(all[instance], text)
			}
		}
	}
	return all
}

// filesAt is what each file could be at a moment between two times: the last that was acknowledged before, and all that was tried since.
func (l *load) filesAt(from, to time.Time) map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string][]string{}
	for path, states := range l.files {
		could := []string{""}
		for _, s := range states {
			switch {
			case !s.acked.IsZero() && s.acked.Before(from):
				could = []string{s.etag}
			case s.tried.Before(to):
				could = append(could, s.etag)
			}
		}
		all[path] = could
	}
	return all
}

// blobsAreWhole compares every attachment with its name.
func blobsAreWhole(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(folder, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there are none
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != d.Name() {
			t.Errorf("attachment %s is half", d.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestABackupUnderLoadIsOneMoment takes backups while people talk and write, each going on from the one before, and restores
// all of them. What a service holds grows with them, so after some another begins.
func TestABackupUnderLoadIsOneMoment(t *testing.T) {
	services, rounds, many := 1, 2, 2
	if soak {
		services, rounds, many = 5, 10, 8
	}
	var backups time.Duration
	beside := 0
	for i := range services {
		t.Run(fmt.Sprint("service ", i), func(t *testing.T) {
			took, asked := backUpUnderLoad(t, rounds, many)
			backups, beside = backups+took, beside+asked
		})
	}
	n := services * rounds
	rate := float64(beside) / backups.Seconds()
	t.Attr("backup.load", fmt.Sprintf("%d, %s each, beside %.0f prompts a second", n, (backups/time.Duration(n)).Round(time.Millisecond), rate))
}

// backUpUnderLoad says how long the backups took, and how many prompts were sent meanwhile.
func backUpUnderLoad(t *testing.T, rounds, many int) (backups time.Duration, beside int) {
	t.Helper()
	c := configured(t)
	l, end := begin(t, c, many)
	defer end()
	servicetest.Eventually(t, "there is something to keep", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.prompts >= 10*many && len(l.files) >= 4*many
	})
	var chain [][]byte
	var base backup.Base
	for round := range rounds {
		if round%5 == 0 {
			chain, base = nil, backup.Base{}
		}
		from, before := time.Now(), l.asked()
		made, data := take(t, c, backup.Wish{}, base)
		until := time.Now()
		backups, beside = backups+until.Sub(from), beside+l.asked()-before
		l.rest.Lock() // what is restored has the machine for itself
		chain = append(chain, data)
		if made.Since != base.ID {
			t.Errorf("round %d goes on from %q, not %q", round, made.Since, base.ID)
		}
		var err error
		if base, err = backup.BaseOf(t.Context(), opener(data)); err != nil {
			t.Fatal(err)
		}
		restored, done := restore(t, c, chain...)
		if !done.Keys || len(done.Todo) != 0 || !done.At.Equal(made.At) {
			t.Errorf("%+v", done)
		}
		l.holds(t, restored, made, until)
		if err := os.RemoveAll(restored.DataDir); err != nil {
			t.Fatal(err)
		}
		asked := l.asked()
		l.rest.Unlock()
		servicetest.Eventually(t, "people go on", func() bool { return l.asked() > asked })
	}
	return backups, beside
}

// TestABackupWithoutAServiceIsTheSame takes one of a folder that nobody works on.
func TestABackupWithoutAServiceIsTheSame(t *testing.T) {
	c := configured(t)
	l, end := begin(t, c, 1)
	servicetest.Eventually(t, "there is something to keep", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.prompts >= 5 && len(l.files) >= 4 })
	end()
	l.served.Stop()
	if err := <-l.served.Done; err != nil {
		t.Fatal(err)
	}
	made, data := take(t, c, backup.Wish{}, backup.Base{})
	restored, _ := restore(t, c, data)
	l.holds(t, restored, made, time.Now())
	if entries, err := os.ReadDir(filepath.Join(c.DataDir, "backup.tmp")); err == nil {
		t.Errorf("left behind: %v", entries)
	}
}

// TestABackupWithoutKeysSaysWhatThatMeans leaves out the ring: the restored service starts only with it.
func TestABackupWithoutKeysSaysWhatThatMeans(t *testing.T) {
	c := configured(t)
	servicetest.Once(t, c)
	made, data := take(t, c, backup.Wish{NoKeys: true}, backup.Base{})
	if made.Keys {
		t.Error("it says that the ring is in it")
	}
	restored, done := restore(t, c, data)
	if len(done.Todo) != 1 || !strings.Contains(done.Todo[0], "key ring") {
		t.Errorf("%q", done.Todo)
	}
	if err := servicetest.Try(t, restored); err == nil || !strings.Contains(err.Error(), "secret_store_key_mismatch") {
		t.Errorf("serve: %v", err)
	}
	ring, err := os.ReadFile(filepath.Join(c.DataDir, "keys.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(restored.DataDir, "keys.json"), ring, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	servicetest.Once(t, restored)
}

// TestARestoreTakesNobodysPlace refuses folders that hold something, and says that one is half.
func TestARestoreTakesNobodysPlace(t *testing.T) {
	c := configured(t)
	servicetest.Once(t, c)
	_, data := take(t, c, backup.Wish{}, backup.Base{})
	again := func(folder string, data []byte) error {
		_, err := backup.Restore(t.Context(), []archive.Opener{opener(data)}, folder, func(backup.Restoring) {})
		return err
	}
	if err := again(c.DataDir, data); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over a service: %v", err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := again(cut, data[:len(data)-100]); err == nil {
		t.Error("a cut archive is taken")
	}
	if _, err := os.Lstat(cut); err == nil {
		t.Error("the folder was made for an archive that is of no use")
	}
	half := configured(t)
	if err := os.MkdirAll(half.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half.DataDir, sqldb.Restoring), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := servicetest.Try(t, half); err == nil || !strings.Contains(err.Error(), "is not finished") {
		t.Errorf("serve on a part: %v", err)
	}
	if err := again(half.DataDir, data); err == nil || !strings.Contains(err.Error(), "is not finished") {
		t.Errorf("restore over a part: %v", err)
	}
}

// TestARestoreTakesTheVolumeOfTheImage restores into what a new volume holds, and not where that is more.
func TestARestoreTakesTheVolumeOfTheImage(t *testing.T) {
	c := configured(t)
	servicetest.Once(t, c)
	_, data := take(t, c, backup.Wish{}, backup.Base{})
	for name, refused := range map[string]bool{"": false, "files/.keep": true, "keys/keys.json": true} {
		folder := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(folder, os.DirFS("../../deploy/root/data")); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := backup.Restore(t.Context(), []archive.Opener{opener(data)}, folder, func(backup.Restoring) {})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("with something in %q: %v", name, err)
		}
		if err == nil {
			c.DataDir = folder
			servicetest.Once(t, c)
		}
	}
}

// TestConfigurationThatLeadsElsewhereIsSetAside keeps a restored service from the data that the backup is of.
func TestConfigurationThatLeadsElsewhereIsSetAside(t *testing.T) {
	c := configured(t)
	servicetest.Once(t, c)
	for text, aside := range map[string]bool{"workers = 3\n": false, "files_dir = \"/srv/files\"\n": true, "[keys]\nfile = \"/etc/ring\"\n": true, "not toml": true} {
		if err := os.WriteFile(filepath.Join(c.DataDir, "svc.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, data := take(t, c, backup.Wish{}, backup.Base{})
		restored, done := restore(t, c, data)
		_, err := os.Stat(filepath.Join(restored.DataDir, "svc.toml.restored"))
		if (err == nil) != aside || (len(done.Todo) == 1) != aside {
			t.Errorf("%q: %v %q", text, err, done.Todo)
		}
	}
}

// TestPostgresKeepsItsRows takes what lies outside, and says so.
func TestPostgresKeepsItsRows(t *testing.T) {
	c := configured(t)
	c.Database = sqldbtest.Schema(t)
	l, end := begin(t, c, 1)
	servicetest.Eventually(t, "there is something to keep", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.prompts >= 3 && len(l.files) >= 4 })
	end()
	made, data := take(t, c, backup.Wish{}, backup.Base{})
	if made.Database != "postgres" || made.Files < 4 || made.Misses != 0 {
		t.Errorf("%+v", made)
	}
	l.served.Stop()
	<-l.served.Done
	restored, done := restore(t, c, data)
	if len(done.Todo) != 1 || !strings.Contains(done.Todo[0], "pg_restore") {
		t.Errorf("%q", done.Todo)
	}
	if _, err := os.Stat(filepath.Join(restored.DataDir, "svc.db")); err == nil {
		t.Error("there is a database of SQLite")
	}
	l.holds(t, restored, made, time.Now())
}

// TestTheCopyWaitsForNoReader copies the database, whose WAL grows meanwhile, though nobody reads how far it is.
func TestTheCopyWaitsForNoReader(t *testing.T) {
	c := configured(t)
	servicetest.Once(t, c)
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r, w := io.Pipe()
	defer r.Close()
	ended := make(chan error, 1)
	go func() { ended <- o.Backup(t.Context(), backup.Wish{}, w) }()
	servicetest.Eventually(t, "the copy is whole", func() bool {
		copied, err := sqldb.OpenCopy(filepath.Join(c.DataDir, "backup.tmp", "svc.db"))
		if err != nil {
			return false
		}
		defer copied.Close()
		return copied.Check(t.Context()) == nil
	})
	r.CloseWithError(io.ErrClosedPipe)
	if err := <-ended; err == nil {
		t.Error("a backup that nobody read is made")
	}
}

// TestOneBackupAtATime refuses a second one, and erases nothing while there is one.
func TestOneBackupAtATime(t *testing.T) {
	c := configured(t)
	servicetest.Start(t, c)
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- o.Backup(ctx, backup.Wish{}, w) }()
	if _, err := r.Read(make([]byte, 1)); err != nil { // it has begun, and waits for its reader
		t.Fatal(err)
	}
	if _, _, err := tryTake(t, c, backup.Wish{}, backup.Base{}); err != nil && !strings.Contains(err.Error(), "another backup") {
		t.Errorf("a second one: %v", err)
	}
	stop()
	r.CloseWithError(io.ErrClosedPipe)
	<-ended
	servicetest.Eventually(t, "the next one is made", func() bool {
		_, _, err := tryTake(t, c, backup.Wish{}, backup.Base{})
		return err == nil
	})
}
