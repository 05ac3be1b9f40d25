package parcel_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/parcel"
	"svc.dev/svc/service/servicetest"
)

// stop stops the service of a place.
func (p *place) stop() {
	p.t.Helper()
	p.served.Stop()
	if err := <-p.served.Done; err != nil {
		p.t.Fatal(err)
	}
}

// count counts rows on PostgreSQL, while the service runs.
func (p *place) count(query string) int64 {
	p.t.Helper()
	db, err := sqldb.Open(p.t.Context(), p.config.Database, sqldb.Options{ReadOnly: true})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	n, err := sqldb.Read(p.t.Context(), db, func(tx *sqldb.Tx) (int64, error) { return sqldb.Value[int64](tx, "count", query) })
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// TestNothingIsReservedBehindTheFiles stands still after the last file: what comes then takes longer than a reservation lives.
func TestNothingIsReservedBehindTheFiles(t *testing.T) {
	from, to := open(t, sqldbtest.SQLite(t)), open(t, sqldbtest.Postgres(t))
	from.furnish("opal")
	a, _, err := from.pack(false)
	if err != nil {
		t.Fatal(err)
	}
	err = parcel.Carry(t.Context(), a, t.TempDir(), func(backup.Restoring) {}, func(r io.Reader) error {
		all, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		until, ended := make(chan struct{}), make(chan error, 1)
		most := all[:bytes.Index(all, []byte("attachments/"))+6000] // in the middle of the picture
		o := to.operator()
		go func() {
			_, err := o.Import(t.Context(), parcel.Address{Username: "ada", Business: "moved"}, io.MultiReader(bytes.NewReader(most), stall{until}))
			ended <- err
		}()
		servicetest.Eventually(t, "conversations are there", func() bool {
			return to.count("SELECT COUNT(*) FROM streams WHERE scope = 'users/ada/moved'") > 0
		})
		if n := to.count("SELECT COUNT(*) FROM storage_reservations WHERE scope = 'users/ada/moved'"); n != 0 {
			t.Errorf("%d reservations are left", n)
		}
		close(until)
		return <-ended
	})
	if err == nil {
		t.Error("a part was imported")
	}
}

// stall gives nothing until it ends.
type stall struct{ until chan struct{} }

func (s stall) Read([]byte) (int, error) {
	<-s.until
	return 0, io.ErrUnexpectedEOF
}

// TestProjectsAreNotLeftOut exports without the folder of files, and without that of a project.
func TestProjectsAreNotLeftOut(t *testing.T) {
	p := open(t, sqldbtest.SQLite(t))
	p.furnish("opal")
	bare := p.of("eve", "personal")
	p.stop()
	files := filepath.Join(p.config.DataDir, "root-sandbox")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(files, files+"-away")
	if _, _, err := p.pack(false); err == nil || !strings.Contains(err.Error(), "files_dir: it is not there") {
		t.Errorf("without the folder of files: %v", err)
	}
	if _, _, err := bare.pack(false); err != nil {
		t.Errorf("without a project: %v", err)
	}
	move(files+"-away", files)
	site := filepath.Join(files, "ada", "personal", "projects", "shop")
	move(site, site+"-away")
	if _, _, err := p.pack(false); err == nil || !strings.Contains(err.Error(), " of shop: ") {
		t.Errorf("without the folder of a project: %v", err)
	}
}

// TestWhatIsDeletedMeanwhileIsLeftOut deletes a file and a project while a large file before them is read.
func TestWhatIsDeletedMeanwhileIsLeftOut(t *testing.T) {
	p := open(t, sqldbtest.SQLite(t))
	for _, slug := range []string{"first", "second"} {
		p.does("POST", "projects", map[string]string{"slug": slug, "name": slug})
		p.does("PUT", "projects/"+slug+"/files/a", strings.Repeat("0123456789abcdef", 1<<19))
		p.does("PUT", "projects/"+slug+"/files/b", "soon gone")
	}
	a, data, err := p.packThrough(parcel.Address{Username: "ada", Business: "personal"}, false, func(r io.Reader) io.Reader {
		return &watched{from: r, until: "files/second/a", then: func() {
			p.does("DELETE", "projects/second/files/b", nil)
			p.does("DELETE", "projects/first", nil)
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if names := namesOf(t, data); !slices.Contains(names, "files/second/a") || slices.Contains(names, "files/second/b") || slices.Contains(names, "files/first/a") {
		t.Errorf("packed %q", names)
	}
	if done, err := p.unpack(a, "ada", "copy"); err != nil || done.Files != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}

// watched does something once, when a text was read.
type watched struct {
	from  io.Reader
	until string
	then  func()
	seen  []byte
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p[:min(len(p), 512)])
	if w.then == nil {
		return n, err
	}
	if w.seen = append(w.seen, p[:n]...); bytes.Contains(w.seen, []byte(w.until)) {
		w.then()
		w.then = nil
	}
	return n, err
}

// namesOf are the files of an archive.
func namesOf(t *testing.T, data []byte) (names []string) {
	t.Helper()
	err := archive.Walk(bytes.NewReader(data), archive.Visitor{File: func(f archive.File) error { names = append(names, f.Path); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestAttachmentsAreWhatTheirContentIs imports rows that somebody has added to an export.
func TestAttachmentsAreWhatTheirContentIs(t *testing.T) {
	between(t, func(t *testing.T, from, to *place) {
		from.furnish("opal")
		_, data, err := from.pack(false)
		if err != nil {
			t.Fatal(err)
		}
		_, picture, _ := strings.Cut(namesOf(t, data)[len(namesOf(t, data))-1], "/")
		if _, err := to.unpack(forged(t, data, picture), "ada", "moved"); err == nil || !strings.Contains(err.Error(), "is said to have others") {
			t.Errorf("of another size: %v", err)
		}
		if done, err := to.unpack(forged(t, data, strings.Repeat("0", 64)), "ada", "moved"); err != nil || done.Missing != 1 || done.Attachments != 1 {
			t.Errorf("without content: %+v, %v", done, err)
		}
	})
}

// forged is an export with one more attachment, of one byte, in its last conversation.
func forged(t *testing.T, data []byte, sha string) archive.Opener {
	t.Helper()
	c, err := archive.Prove(t.Context(), []archive.Opener{opener(data)}, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	files, err := c.Spool(t.Context(), spool, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, c.Head, nil)
	for _, f := range files {
		content := io.Reader(f)
		if strings.HasPrefix(f.Path, "streams/") {
			content = io.MultiReader(f, strings.NewReader(fmt.Sprintf("{\"blob\":{\"attachment\":\"att_forged\",\"sha256\":%q,\"size\":1,\"mime\":\"\",\"filename\":\"\"}}\n", sha)))
		}
		_, added := w.Add(f.Path, f.Mode, f.Modified, content)
		err = errors.Join(err, added)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return opener(b.Bytes())
}

// TestAnImportLeavesNoFile looks for what an import unpacks while it is delivered: a process that is killed then leaves as much.
func TestAnImportLeavesNoFile(t *testing.T) {
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Head{ID: "one", About: []byte(`{"database":"workspace"}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add("workspace.json", 0o600, time.Time{}, strings.NewReader("secret")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	folder, system := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", system)
	for _, in := range []string{folder, ""} {
		err = parcel.Carry(t.Context(), opener(b.Bytes()), in, func(backup.Restoring) {}, func(r io.Reader) error {
			all, err := io.ReadAll(r)
			if err != nil || !bytes.Contains(all, []byte("secret")) {
				t.Errorf("in %q %d bytes are delivered, %v", in, len(all), err)
			}
			for _, place := range []string{folder, system} {
				if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
					t.Errorf("in %q it leaves %v, %v", in, left, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
