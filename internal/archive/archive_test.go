package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"svc.dev/svc/internal/archive"
)

var soak = os.Getenv("SVC_SOAK") != ""

// at is when the files of these tests were written, to the nanosecond.
var at = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)

// write makes an archive of files.
func write(t *testing.T, h archive.Head, known map[archive.Sum]struct{}, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, h, known)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if _, err := w.Add(name, 0o640, at, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opener(name string, data []byte) archive.Opener {
	return archive.Opener{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func quiet(int64) {}

// extract restores a chain, and reads what it has made.
func extract(t *testing.T, all ...archive.Opener) map[string]string {
	t.Helper()
	c, err := archive.Prove(t.Context(), all, quiet)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := c.Extract(t.Context(), folder, quiet); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && (!info.ModTime().Equal(at) || info.Mode() != 0o640) {
			t.Errorf("%s: %s %s", path, info.ModTime(), info.Mode())
		}
		text, _ := os.ReadFile(filepath.Join(folder, path))
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d files of %d", len(got), len(want))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s has %d bytes, not the %d that were written", name, len(got[name]), len(text))
		}
	}
}

// noise is text that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b) // never fails
	return string(b)
}

func TestFilesComeBackAsTheyWere(t *testing.T) {
	large := noise(9<<20 + 17)
	want := map[string]string{"svc.db": large, "empty": "", "a/b/c d.txt": "hello", "twice": "hello", "twin.db": large}
	data := write(t, archive.Head{ID: "one"}, nil, want)
	same(t, extract(t, opener("one", data)), want)
	if len(data) > 10<<20 {
		t.Errorf("what is there twice is carried twice: %d bytes", len(data))
	}
}

// TestASpoolHoldsWhatFilesHold reads a chain without a folder, in the order in which it was written.
func TestASpoolHoldsWhatFilesHold(t *testing.T) {
	large := noise(9<<20 + 17)
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Head{ID: "one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	names, texts := []string{"z", "empty", "a/b", "a/c"}, []string{"hello", "", large, large}
	for i, name := range names {
		if _, err := w.Add(name, 0o640, at, strings.NewReader(texts[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := archive.Prove(t.Context(), []archive.Opener{opener("one", b.Bytes())}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var told int64
	all, err := c.Spool(t.Context(), to, func(n int64) { told = n })
	if err != nil || len(all) != len(names) || told != c.Bytes {
		t.Fatalf("%d files, %d bytes of %d, %v", len(all), told, c.Bytes, err)
	}
	for i, f := range all {
		if text, err := io.ReadAll(f); f.Path != names[i] || string(text) != texts[i] || err != nil {
			t.Errorf("%s: %d bytes, %v, want %s with %d", f.Path, len(text), err, names[i], len(texts[i]))
		}
	}
}

// TestAPathIsTakenOnce refuses the second file of one path when it is written, and when it is read before anything is extracted.
func TestAPathIsTakenOnce(t *testing.T) {
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Head{ID: "one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, err := w.Add("a", 0o640, at, strings.NewReader("x"))
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if err := add(); err == nil || !strings.Contains(err.Error(), "the file a comes twice") {
		t.Errorf("written: %v", err)
	}
	archive.Forget(w)
	if err := errors.Join(add(), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Prove(t.Context(), []archive.Opener{opener("one", b.Bytes())}, quiet)
	if _, ok := errors.AsType[*archive.DamagedError](err); !ok {
		t.Errorf("read: %v", err)
	}
}

func TestAChainCarriesWhatIsNew(t *testing.T) {
	base := []byte(noise(9 << 20))
	first := map[string]string{"svc.db": string(base), "old": "gone later", "moved/from": "the same"}
	one := write(t, archive.Head{ID: "one"}, nil, first)
	_, known, err := archive.Known(t.Context(), opener("one", one))
	if err != nil {
		t.Fatal(err)
	}
	base[5<<20]++ // a page of the second part
	second := map[string]string{"svc.db": string(base), "new": "here", "moved/to": "the same"}
	two := write(t, archive.Head{ID: "two", Since: "one"}, known, second)
	if len(two) > 5<<20 {
		t.Errorf("the second carries %d bytes", len(two))
	}
	_, known, err = archive.Known(t.Context(), opener("two", two))
	if err != nil {
		t.Fatal(err)
	}
	three := write(t, archive.Head{ID: "three", Since: "two"}, known, second)
	if len(three) > 10_000 {
		t.Errorf("what has not changed has %d bytes", len(three))
	}
	same(t, extract(t, opener("two", two), opener("one", one)), second)
	same(t, extract(t, opener("three", three), opener("one", one), opener("two", two)), second)
	same(t, extract(t, opener("one", one)), first)
	for name, chain := range map[string][]archive.Opener{
		"no first":   {opener("two", two)},
		"a gap":      {opener("one", one), opener("three", three)},
		"one twice":  {opener("one", one), opener("again", one)},
		"two firsts": {opener("one", one), opener("other", write(t, archive.Head{ID: "other"}, nil, first))},
		"two ends":   {opener("one", one), opener("two", two), opener("fork", write(t, archive.Head{ID: "fork", Since: "one"}, nil, first))},
	} {
		if c, err := archive.Prove(t.Context(), chain, quiet); err == nil {
			t.Errorf("%s: %+v", name, c.Head)
		}
	}
}

// sealed is an archive for one key of age, and what opens it.
func sealed(t *testing.T, plain []byte) ([]byte, []age.Identity) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return encrypt(t, key.Recipient().String(), plain), []age.Identity{key}
}

// encrypt is an archive for a recipient, as it is named on the command line.
func encrypt(t *testing.T, recipient string, plain []byte) []byte {
	t.Helper()
	to, err := archive.Recipient(recipient)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := archive.Encrypted(&b, to)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDamagedArchivesAreRefused(t *testing.T) {
	files := map[string]string{"svc.db": noise(20_000), "a": "b", "c/d": strings.Repeat("e", 5000)}
	plain := write(t, archive.Head{ID: "one"}, nil, files)
	encrypted, key := sealed(t, plain)
	stride, first := 397, 16 // a prime, so that all bits have their turn
	if soak {
		stride, first = 7, 512
	}
	for name, data := range map[string][]byte{"plain": plain, "encrypted": encrypted} {
		path := file(t, data)
		prove := func() error {
			_, err := archive.Prove(t.Context(), []archive.Opener{archive.FileOpener(path, key)}, quiet)
			return err
		}
		if err := prove(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		try := func(what string, changed []byte) {
			t.Helper()
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if prove() == nil {
				t.Errorf("%s, %s: it is taken", name, what)
			}
		}
		places := []int{len(data) - 1, len(data) - 32, len(data) - 33, len(data) - 40}
		for i := range first {
			places = append(places, i)
		}
		for i := first; i < len(data); i += stride {
			places = append(places, i)
		}
		for _, i := range places {
			flipped := bytes.Clone(data)
			flipped[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("byte %d flipped", i), flipped)
			try(fmt.Sprintf("cut at %d", i), data[:i])
		}
		try("something behind it", append(bytes.Clone(data), 0))
		try("a piece gone", append(bytes.Clone(data[:len(data)/2]), data[len(data)/2+512:]...))
		try("twice", append(bytes.Clone(data), data...))
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	data := write(t, archive.Head{ID: "one"}, nil, nil)
	data = bytes.Replace(data, []byte("svc-backup 1\n"), []byte("svc-backup 2\n"), 1)
	_, err := archive.Prove(t.Context(), []archive.Opener{opener("new", data)}, quiet)
	if newer, ok := errors.AsType[*archive.NewerError](err); !ok || newer.Format != 2 {
		t.Errorf("%v", err)
	}
}

func TestAnArchiveWritesNowhereElse(t *testing.T) {
	for _, name := range []string{"../out", "/etc/out", "a/../../out", ".", "", "a//b", "a/./b"} {
		data := write(t, archive.Head{ID: "one"}, nil, map[string]string{name: "x"})
		if _, err := archive.Prove(t.Context(), []archive.Opener{opener("one", data)}, quiet); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestWrongKeysOpenNothing(t *testing.T) {
	plain := write(t, archive.Head{ID: "one"}, nil, map[string]string{"a": "b"})
	encrypted, _ := sealed(t, plain)
	_, other := sealed(t, plain)
	path := file(t, encrypted)
	for what, with := range map[string][]age.Identity{"no key": nil, "another key": other} {
		_, err := archive.Prove(t.Context(), []archive.Opener{archive.FileOpener(path, with)}, quiet)
		if err == nil || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := archive.Recipient(file(t, []byte("short\n"))); err == nil {
		t.Error("a short passphrase is taken")
	}
}

// TestAPassphraseOpensWhatItLocked: the first line of a file is the phrase, however that line ends.
func TestAPassphraseOpensWhatItLocked(t *testing.T) {
	plain := write(t, archive.Head{ID: "one"}, nil, map[string]string{"a": "b"})
	path := file(t, encrypt(t, file(t, []byte("correct horse battery\nwhat follows is no part of it\n")), plain))
	for phrase, opens := range map[string]bool{"correct horse battery": true, "correct horse battery\r\n": true, "correct horse staple\n": false} {
		with, err := archive.Identities(file(t, []byte(phrase)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = archive.Prove(t.Context(), []archive.Opener{archive.FileOpener(path, with)}, quiet)
		if opens && err != nil || !opens && (err == nil || !strings.Contains(err.Error(), "encrypted for another key or passphrase")) {
			t.Errorf("%q: %v", phrase, err)
		}
	}
}

// endless gives so many bytes that nobody holds, of which every fourth MiB is noise.
type endless struct {
	left  int64
	block []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.block[:min(int64(len(e.block)), e.left)])
	e.left -= int64(n)
	e.block[0]++ // no two parts are alike
	e.block[1] += e.block[0] & 1
	return n, nil
}

// TestMemoryDoesNotGrowWithTheBytes writes, proves and extracts a large file.
func TestMemoryDoesNotGrowWithTheBytes(t *testing.T) {
	size := int64(24 << 20)
	if soak {
		size = 10 << 30
	}
	path := filepath.Join(t.TempDir(), "large")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	peak := watchHeap(t)
	w, err := archive.NewWriter(out, archive.Head{ID: "large"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("a page of a database, much like the next one. "), 40_000)
	if _, err := w.Add("large", 0o640, at, &endless{left: size, block: block}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := archive.Prove(t.Context(), []archive.Opener{archive.FileOpener(path, nil)}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := c.Extract(t.Context(), folder, quiet); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(filepath.Join(folder, "large")); err != nil || stat.Size() != size {
		t.Errorf("%v %v", stat, err)
	}
	most := peak()
	t.Attr("archive.heap", fmt.Sprintf("%d MiB at most for %d MiB", most>>20, size>>20))
	if most > 64<<20 {
		t.Errorf("the heap had %d MiB", most>>20)
	}
}

// watchHeap looks at the heap now and then; what it returns ends that, and says what was most.
func watchHeap(t *testing.T) func() uint64 {
	runtime.GC() // what tests before it have left
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan uint64)
	go func() {
		var most uint64
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-ctx.Done():
				tick.Stop()
				ended <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { cancel(); return <-ended }
}

func FuzzWalk(f *testing.F) {
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Head{ID: "one"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := w.Add("a", 0o600, at, strings.NewReader("text")); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("svc-backup 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := archive.Walk(bytes.NewReader(data), archive.Visitor{Part: func(sum archive.Sum, part []byte) error {
			if is := sha256.Sum256(part); hex.EncodeToString(is[:]) != sum.String() {
				t.Errorf("part %s is another", sum)
			}
			return nil
		}})
		_ = err // only that it ends, and lies about no part
	})
}
