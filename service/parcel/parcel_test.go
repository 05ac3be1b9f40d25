package parcel_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/parcel"
	"svc.dev/svc/service/servicetest"
	"svc.dev/svc/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

var scopes = []string{"agents:read", "agents:write", "workflows:run", "runs:read", "projects:read", "projects:write"}

// place is a service with somebody's workspace on it.
type place struct {
	t      *testing.T
	config config.Config
	served *servicetest.Served
	at     string // user/business
	key    string
}

func open(t *testing.T, database string) *place {
	t.Helper()
	c := servicetest.Config(t)
	c.Database = database
	s := servicetest.Start(t, c)
	return &place{t: t, config: c, served: s, at: "ada/personal", key: s.Key(t, "ada", scopes...)}
}

// of is another workspace of the same service.
func (p *place) of(user, business string) *place {
	p.t.Helper()
	return &place{t: p.t, config: p.config, served: p.served, at: user + "/" + business, key: p.served.KeyOf(p.t, user, business, scopes...)}
}

// ask asks for something of the workspace: below v1/ of its runtime, else of its own.
func (p *place) ask(method, path string, body any) servicetest.Answer {
	p.t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		text = string(b)
	}
	url := p.served.Agents + "/api/workspaces/" + p.at + "/" + path
	if rest, runtime := strings.CutPrefix(path, "v1/"); runtime {
		url = p.served.Agents + "/v1/" + p.at + "/" + rest
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, url, strings.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "v1/") {
		r.Header.Set("Authorization", "Bearer "+p.key)
	} else { // no key writes an agent
		user, _, _ := strings.Cut(p.at, "/")
		r.Header["Cookie"], r.Header["Origin"] = []string{p.served.Session(p.t, user)}, []string{p.served.Agents}
	}
	return servicetest.Send(p.t, servicetest.Client, r)
}

// does asks for something that must go well, and reads the answer.
func (p *place) does(method, path string, body any) (answer map[string]any) {
	p.t.Helper()
	a := p.ask(method, path, body)
	if a.Status/100 != 2 {
		p.t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	_ = json.Unmarshal([]byte(a.Body), &answer) // some have none
	return answer
}

// settled waits until nothing of a conversation is queued or worked.
func (p *place) settled(conversation string) {
	p.t.Helper()
	servicetest.Eventually(p.t, "the end of "+conversation, func() bool {
		a := p.ask("GET", "v1/agents/"+conversation+"/submissions", nil)
		return a.Status == 200 && !strings.Contains(a.Body, `"submissionId"`)
	})
}

var picture = append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("picture"), 1000)...)

// furnish fills a workspace, and gives what can be read of it that must be the same elsewhere.
func (p *place) furnish(mark string) (paths []string) {
	p.t.Helper()
	p.does("POST", "projects", map[string]string{"slug": "shop", "name": "Shop " + mark, "description": "All of it."})
	for i := range 3 {
		p.does("PUT", fmt.Sprintf("projects/shop/files/notes/%d.txt", i), strings.Repeat(fmt.Sprintf("%s %d\n", mark, i), 1000*i))
	}
	p.does("POST", "agents", map[string]any{"name": "clerk", "instructions": "You are " + mark + ".", "exposed": true})
	p.does("PATCH", "agents/clerk", map[string]any{"instructions": "You are still " + mark + "."})
	p.does("POST", "agents", map[string]any{"name": "gone", "instructions": "Soon."})
	p.does("DELETE", "agents/gone", nil)
	image := map[string]string{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(picture)}
	for _, conversation := range []string{"central/first", "clerk/second"} {
		p.does("POST", "v1/agents/"+conversation, map[string]any{"kind": "user", "body": "n=20 " + mark})
		p.does("POST", "v1/agents/"+conversation, map[string]any{"kind": "user", "body": "n=3 " + mark, "attachments": []any{image}})
		p.settled(conversation)
	}
	run, _ := p.does("POST", "v1/workflows/digest", map[string]any{"project": "shop"})["runId"].(string)
	servicetest.Eventually(p.t, "the end of the run", func() bool {
		return strings.Contains(p.ask("GET", "v1/runs/"+run+"?offset=-1", nil).Body, "run_end")
	})
	return []string{
		"v1/agents/central/first", "v1/agents/central/first?offset=-1&view=updates", "v1/agents/clerk/second", "v1/agents/clerk/second?offset=-1&view=updates",
		"v1/runs/" + run + "?offset=-1", "v1/runs/" + run + "?meta", "agents/clerk/versions/1", "agents/clerk/versions/2",
		"projects/shop/files/notes/0.txt", "projects/shop/files/notes/1.txt", "projects/shop/files/notes/2.txt",
	}
}

// operator is who keeps the service.
func (p *place) operator() operate.Operator {
	p.t.Helper()
	o, err := service.Operate(p.t.Context(), p.config, slog.New(slog.DiscardHandler))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = o.Close() })
	return o
}

func (p *place) pack(unfinished bool) (archive.Opener, []byte, error) {
	p.t.Helper()
	at, err := parcel.ParseAddress(p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.packThrough(at, unfinished, func(r io.Reader) io.Reader { return r })
}

// packThrough packs what comes through a reader of the test's own.
func (p *place) packThrough(at parcel.Address, unfinished bool, through func(io.Reader) io.Reader) (archive.Opener, []byte, error) {
	p.t.Helper()
	o := p.operator()
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.CloseWithError(o.Export(p.t.Context(), parcel.Wish{Address: at, Unfinished: unfinished}, w))
	}()
	var b bytes.Buffer
	_, err := backup.Make(p.t.Context(), through(r), &b, backup.Base{}, func(backup.Progress) {})
	r.CloseWithError(io.ErrClosedPipe)
	<-ended
	_ = o.Close() // where no service runs the next one opens the database too
	return opener(b.Bytes()), b.Bytes(), err
}

func opener(data []byte) archive.Opener {
	return archive.Opener{Name: "an export", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func (p *place) unpack(a archive.Opener, user, business string) (done parcel.Unpacked, err error) {
	p.t.Helper()
	err = parcel.Carry(p.t.Context(), a, p.t.TempDir(), func(backup.Restoring) {}, func(r io.Reader) (err error) {
		done, err = p.operator().Import(p.t.Context(), parcel.Address{Username: user, Business: business}, r)
		return err
	})
	return done, err
}

// between has a test from each database to the other.
func between(t *testing.T, fn func(t *testing.T, from, to *place)) {
	t.Run("sqlite to postgres", func(t *testing.T) { fn(t, open(t, sqldbtest.SQLite(t)), open(t, sqldbtest.Postgres(t))) })
	t.Run("postgres to sqlite", func(t *testing.T) { fn(t, open(t, sqldbtest.Postgres(t)), open(t, sqldbtest.SQLite(t))) })
}

func TestAWorkspaceMoves(t *testing.T) {
	between(t, func(t *testing.T, from, to *place) {
		paths := from.furnish("opal")
		from.of("eve", "personal").furnish("jasper")
		a, data, err := from.pack(false)
		if err != nil {
			t.Fatal(err)
		}
		names := partsOf(t, data)
		for _, foreign := range []string{"eve", "jasper", from.key} {
			if bytes.Contains(names, []byte(foreign)) {
				t.Errorf("%q is in the export", foreign)
			}
		}
		done, err := to.unpack(a, "ada", "moved")
		if err != nil {
			t.Fatal(err)
		}
		if done.Workspace != "ada/moved" || done.Agents != 1 || done.Projects != 1 || done.Files != 4 || done.Streams < 3 || done.Attachments != 1 {
			t.Errorf("imported %+v", done)
		}
		moved := to.of("ada", "moved")
		for _, path := range paths {
			wantSame(t, from.ask("GET", path, nil), moved.ask("GET", path, nil), path)
		}
		moved.goesOn(from)
	})
}

// partsOf is all that is in an archive.
func partsOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var all bytes.Buffer
	err := archive.Walk(bytes.NewReader(data), archive.Visitor{
		Head: func(h archive.Head) error { all.Write(h.About); return nil },
		Part: func(_ archive.Sum, part []byte) error { all.Write(part); return nil },
		File: func(f archive.File) error { all.WriteString(f.Path); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

func wantSame(t *testing.T, want, got servicetest.Answer, path string) {
	t.Helper()
	if want.Status != 200 || got.Status != want.Status || got.Body != want.Body {
		t.Errorf("%s: %d %s\nwant %d %s", path, got.Status, got.Body, want.Status, want.Body)
	}
	for _, name := range []string{stream.HeaderNextOffset, stream.HeaderUpToDate, stream.HeaderClosed} {
		if got.Header.Get(name) != want.Header.Get(name) {
			t.Errorf("%s: %s is %q, want %q", path, name, got.Header.Get(name), want.Header.Get(name))
		}
	}
}

// goesOn looks at a conversation that moved: a client that was half-way reads the rest, its picture is there, and it is written in.
func (p *place) goesOn(from *place) {
	p.t.Helper()
	const conversation = "v1/agents/central/first"
	var updates []json.RawMessage
	if err := json.Unmarshal([]byte(from.ask("GET", conversation+"?offset=-1&view=updates", nil).Body), &updates); err != nil || len(updates) < 10 {
		p.t.Fatalf("%d updates, %v", len(updates), err)
	}
	half := from.ask("GET", conversation+"?offset=-1&view=updates&limit=5", nil).Header.Get(stream.HeaderNextOffset)
	rest := conversation + "?view=updates&offset=" + half
	wantSame(p.t, from.ask("GET", rest, nil), p.ask("GET", rest, nil), rest)
	history := p.ask("GET", conversation, nil).Body
	_, id, _ := strings.Cut(history, `"id":"att_`)
	id, _, _ = strings.Cut("att_"+id, `"`)
	if a := p.ask("GET", conversation+"/attachments/"+id, nil); a.Status != 200 || a.Body != string(picture) {
		p.t.Errorf("attachment %q: %d, %d bytes; %s", id, a.Status, len(a.Body), history)
	}
	p.does("POST", conversation, map[string]any{"kind": "user", "body": "n=2"})
	p.settled("central/first")
	_, before, _ := strings.Cut(history, `"messages":[`)
	before, _, _ = strings.Cut(before, `],"settlements"`)
	if now := p.ask("GET", conversation, nil).Body; !strings.Contains(now, before+",") {
		p.t.Errorf("after another prompt: %s, and before: %s", now, before)
	}
}

func TestUnfinishedWorkIsRefusedOrGoesOn(t *testing.T) {
	between(t, func(t *testing.T, from, to *place) {
		from.does("POST", "v1/agents/central/long", map[string]any{"kind": "user", "body": "n=30 delay=100"})
		from.does("POST", "v1/agents/central/long", map[string]any{"kind": "user", "body": "n=1 queued"})
		if _, _, err := from.pack(false); err == nil || !strings.Contains(err.Error(), "--unfinished") {
			t.Errorf("an export with unfinished work: %v", err)
		}
		a, _, err := from.pack(true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.unpack(a, "ada", "moved"); err != nil {
			t.Fatal(err)
		}
		moved := to.of("ada", "moved")
		moved.settled("central/long")
		if history := moved.ask("GET", "v1/agents/central/long", nil).Body; !strings.Contains(history, "queued") {
			t.Errorf("what was queued is not there: %s", history)
		}
	})
}

func TestWhatCannotBeImportedLeavesNothing(t *testing.T) {
	between(t, func(t *testing.T, from, to *place) {
		from.furnish("opal")
		a, data, err := from.pack(false)
		if err != nil {
			t.Fatal(err)
		}
		for name, try := range map[string]func() error{
			"cut off": func() error { _, err := to.unpack(opener(data[:len(data)/2]), "ada", "moved"); return err },
			"changed": func() error {
				other := bytes.Clone(data)
				other[len(other)/2] ^= 1
				_, err := to.unpack(opener(other), "ada", "moved")
				return err
			},
			"of nobody":     func() error { _, err := to.unpack(a, "nobody", "moved"); return err },
			"taken":         func() error { _, err := to.unpack(a, "ada", "personal"); return err },
			"a bad name":    func() error { _, err := to.unpack(a, "ada", "Not A Name"); return err },
			"ends too soon": func() error { return to.unpackPart(a, "moved") },
			"restored": func() error {
				_, err := backup.Restore(t.Context(), []archive.Opener{a}, filepath.Join(t.TempDir(), "x"), func(backup.Restoring) {})
				return err
			},
		} {
			if err := try(); err == nil {
				t.Errorf("%s: it was imported", name)
			} else {
				t.Logf("%s: %v", name, err)
			}
		}
		servicetest.Eventually(t, "the address is free again", func() bool {
			_, err := to.unpack(a, "ada", "moved")
			return err == nil
		})
		if err := to.unpackPart(a, "gone"); err == nil {
			t.Error("a part was imported")
		}
		to.served.Stop()
		if err := <-to.served.Done; err != nil {
			t.Error(err)
		}
		to.holdsNothingOf(t, "users/ada/gone")
	})
}

// unpackPart delivers no more than the first half of an export.
func (p *place) unpackPart(a archive.Opener, business string) error {
	return parcel.Carry(p.t.Context(), a, p.t.TempDir(), func(backup.Restoring) {}, func(r io.Reader) error {
		all, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_, err = p.operator().Import(p.t.Context(), parcel.Address{Username: "ada", Business: business}, io.MultiReader(bytes.NewReader(all[:len(all)/2]), broken{}))
		return err
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }

// holdsNothingOf looks for rows of a scope in every table that has one.
func (p *place) holdsNothingOf(t *testing.T, scope string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), p.config.Database, sqldb.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for table, which := range map[string]string{"streams": " AND kind <> ''", "runs": "", "blobs": "", "agents": "", "agent_versions": "", "projects": "", "workspaces": ""} {
		n, err := sqldb.Read(t.Context(), db, func(tx *sqldb.Tx) (int64, error) {
			return sqldb.Value[int64](tx, "count", "SELECT COUNT(*) FROM "+table+" WHERE scope = $1"+which, scope)
		})
		if err != nil || n != 0 {
			t.Errorf("%d rows in %s, %v", n, table, err)
		}
	}
}
