package secret_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.dev/svc/service/secret"
)

// key is the base64 of a key that is made of a text.
func key(of string) string {
	sum := sha256.Sum256([]byte(of))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func TestRingText(t *testing.T) {
	one, two := key("one"), key("two")
	short := base64.StdEncoding.EncodeToString(make([]byte, 31))
	long := base64.StdEncoding.EncodeToString(make([]byte, 33))
	for text, ok := range map[string]bool{
		`{"active":"k1","keys":{"k1":"` + one + `"}}`:                              true,
		`{"keys":{"k1":"` + one + `","k2":"` + two + `"},"active":"k2"}`:           true,
		" {\n\t\"active\" : \"k1\" , \"keys\" : { \"k1\" : \"" + one + "\" } } \n": true,
		`{"active":"k3","keys":{"k1":"` + one + `"}}`:                              false, // unknown active
		`{"active":"","keys":{"k1":"` + one + `"}}`:                                false,
		`{"active":"k1","keys":{}}`:                                                false, // empty
		`{"active":"k1"}`:                                                          false,
		`{"keys":{"k1":"` + one + `"}}`:                                            false,
		`{}`:                                                                       false,
		``:                                                                         false,
		`null`:                                                                     false,
		`[]`:                                                                       false,
		`{"active":"k1","keys":null}`:                                              false,
		`{"active":"k1","keys":{"k1":"` + short + `"}}`:                                                         false,
		`{"active":"k1","keys":{"k1":"` + long + `"}}`:                                                          false,
		`{"active":"k1","keys":{"k1":""}}`:                                                                      false,
		`{"active":"k1","keys":{"k1":null}}`:                                                                    false,
		`{"active":"k1","keys":{"k1":1}}`:                                                                       false,
		`{"active":"k1","keys":{"k1":{}}}`:                                                                      false,
		`{"active":"k1","keys":{"k1":"` + one + `","k1":"` + two + `"}}`:                                        false, // duplicate kid
		`{"active":"k1","keys":{"k1":"` + one + `","k1":"` + one + `"}}`:                                        false,
		`{"active":"k1","keys":{"k1":"` + one + `","\u006b1":"` + two + `"}}`:                                   false, // the same, spelt otherwise
		`{"active":"k1","active":"k1","keys":{"k1":"` + one + `"}}`:                                             false,
		`{"active":"k1","keys":{"k1":"` + one + `"},"keys":{"k1":"` + two + `"}}`:                               false,
		`{"active":"k1","keys":{"k1":"` + one + `"},"extra":1}`:                                                 false,
		`{"Active":"k1","keys":{"k1":"` + one + `"}}`:                                                           false,
		`{"active":"k1","KEYS":{"k1":"` + one + `"}}`:                                                           false,
		`{"active":"k1","keys":{"k1":"` + one + `"}} {}`:                                                        false,
		`{"active":"k1","keys":{"k1":"` + one + `"}}x`:                                                          false,
		`{"active":"k1","keys":{"k1":"` + one + `"}`:                                                            false,
		`{"active":"k1","keys":{"k1":"` + one + `","k2":"` + one + `"}}`:                                        false, // one key, two kids
		`{"active":"k1","keys":{"k1":"` + strings.TrimRight(one, "=") + `"}}`:                                   false,
		`{"active":"k1","keys":{"k1":"` + one + `\n"}}`:                                                         false,
		`{"active":"k1","keys":{"k1":"` + strings.Repeat("!", 44) + `"}}`:                                       false,
		`{"active":"k 1","keys":{"k 1":"` + one + `"}}`:                                                         false,
		`{"active":"","keys":{"":"` + one + `"}}`:                                                               false,
		"{\"active\":\"k\xff\",\"keys\":{\"k\xff\":\"" + one + "\"}}":                                           false,
		`{"active":"` + strings.Repeat("k", 65) + `","keys":{"` + strings.Repeat("k", 65) + `":"` + one + `"}}`: false,
		strings.Repeat("[", 100_000):                                                                            false,
	} {
		ring, err := secret.ParseRing([]byte(text))
		if (err == nil) != ok || (ring == nil) == ok {
			t.Errorf("%.80s: %v", text, err)
		}
		if err != nil && (strings.Contains(err.Error(), one[:12]) || strings.Contains(err.Error(), two[:12])) {
			t.Errorf("the error holds a key: %v", err)
		}
	}
}

func TestKeyFileIsForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	if _, err := secret.ReadRing(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing: %v", err)
	}
	ring := newRing(t)
	must(t, ring.WriteNew(path))
	for mode, ok := range map[os.FileMode]bool{
		0o600: true, 0o400: true, 0o644: false, 0o640: false, 0o604: false, 0o660: false, 0o620: false, 0o602: false, 0o601: false, 0o777: false,
	} {
		must(t, os.Chmod(path, mode))
		if _, err := secret.ReadRing(path); (err == nil) != ok {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	must(t, os.Chmod(path, 0o600))
	info, err := os.Stat(path)
	must(t, err)
	if secret.Private(info, os.Geteuid()+1) == nil {
		t.Error("a file of another user was taken")
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(path, 65534, 65534))
		if _, err := secret.ReadRing(path); err == nil {
			t.Error("a file of another user was read")
		}
	}
}

func TestKeyFileThatIsNoFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	if _, err := secret.ReadRing(folder); err == nil {
		t.Error("read a folder")
	}
	pipe := filepath.Join(folder, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := secret.ReadRing(pipe); err == nil {
		t.Error("read a pipe")
	}
	for name, text := range map[string]string{"empty": "", "half": `{"active":"k1","keys":{"k1":"`, "large": strings.Repeat(" ", 2<<20)} {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := secret.ReadRing(path); err == nil {
			t.Errorf("read %s", name)
		}
	}
}

func TestNewRingNeverReplacesAFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "keys.json")
	first := newRing(t)
	must(t, first.WriteNew(path))
	if err := newRing(t).WriteNew(path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("second: %v", err)
	}
	got, err := secret.ReadRing(path)
	if err != nil || got.Active() != first.Active() {
		t.Fatalf("%v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	more, kid, err := first.Add()
	must(t, err)
	must(t, more.Replace(path))
	if got, err = secret.ReadRing(path); err != nil || len(got.Kids()) != 2 || got.Active() != first.Active() || kid == first.Active() {
		t.Errorf("%v, %v", got, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := first.WriteNew(filepath.Join(folder, "missing", "keys.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestRingPrintsNoKey(t *testing.T) {
	text := `{"active":"k1","keys":{"k1":"` + key("one") + `"}}`
	ring, err := secret.ParseRing([]byte(text))
	must(t, err)
	raw, err := base64.StdEncoding.DecodeString(key("one"))
	must(t, err)
	holder := struct{ ring *secret.Ring }{ring}
	inJSON, err := json.Marshal(map[string]any{"ring": ring})
	must(t, err)
	for _, out := range []string{
		fmt.Sprint(ring), fmt.Sprintf("%+v", ring), fmt.Sprintf("%#v", ring), fmt.Sprintf("%#v", *ring),
		fmt.Sprintf("%+v", holder), fmt.Sprintf("%#v", holder), string(inJSON),
	} {
		if printed(out, string(raw)) || strings.Contains(out, key("one")) {
			t.Errorf("printed %s", out)
		}
	}
}

func TestWrapOpensOnlyAsItWasWrapped(t *testing.T) {
	ring, _, err := newRing(t).Add()
	must(t, err)
	a, b := ring.Kids()[0], ring.Kids()[1]
	dek := bytes.Repeat([]byte("d"), 32)
	wrapped, err := ring.Wrap(a, dek, []byte("aad"))
	must(t, err)
	if got, err := ring.Unwrap(a, wrapped, []byte("aad")); err != nil || !bytes.Equal(got, dek) {
		t.Fatalf("%q, %v", got, err)
	}
	for what, c := range map[string]struct {
		kid, aad string
		wrapped  []byte
	}{
		"other kid": {b, "aad", wrapped}, "unknown kid": {"k", "aad", wrapped}, "other aad": {a, "aae", wrapped}, "no aad": {a, "", wrapped},
		"cut": {a, "aad", wrapped[:40]}, "short": {a, "aad", wrapped[:5]}, "empty": {a, "aad", nil},
	} {
		if got, err := ring.Unwrap(c.kid, c.wrapped, []byte(c.aad)); err == nil {
			t.Errorf("%s: %q", what, got)
		}
	}
	if _, err := ring.Wrap("k", dek, nil); err == nil {
		t.Error("wrapped under a kid that is not there")
	}
}

func FuzzRing(f *testing.F) {
	f.Add([]byte(`{"active":"k1","keys":{"k1":"` + key("one") + `","k2":"` + key("two") + `"}}`))
	f.Add([]byte(`{"active":"k1","keys":{"k1":"` + key("one") + `","k1":"` + key("two") + `"}}`))
	f.Add([]byte(`{"active":"\ud800","keys":{"\ud800":null}}`))
	f.Add([]byte(`{"active":"k1","keys":[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := secret.ParseRing(text)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "keys.json")
		must(t, ring.WriteNew(path))
		again, err := secret.ReadRing(path)
		must(t, err)
		dek := make([]byte, 32)
		for _, kid := range ring.Kids() {
			wrapped, err := ring.Wrap(kid, dek, nil)
			must(t, err)
			if _, err := again.Unwrap(kid, wrapped, nil); err != nil {
				t.Fatalf("key %s changed on its way to the file: %v", kid, err)
			}
		}
		if !strings.Contains(string(text), `"`) || again.Active() != ring.Active() {
			t.Fatalf("active %q", again.Active())
		}
	})
}
