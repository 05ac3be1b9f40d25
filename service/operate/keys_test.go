package operate_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

func ringFile(c config.Config) string { return filepath.Join(c.DataDir, "keys.json") }

func readRing(t *testing.T, path string) (ring struct {
	Active string
	Keys   map[string]string
}) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &ring)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestFirstStartMakesTheKeyRing(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	stat, err := os.Stat(ringFile(c))
	if err != nil || stat.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", stat, err)
	}
	before := readRing(t, ringFile(c))
	servicetest.Once(t, c)
	if after := readRing(t, ringFile(c)); after.Active != before.Active || len(after.Keys) != 1 {
		t.Errorf("was %s, is %s", before.Active, after.Active)
	}
}

func TestLostKeyRingIsNotMadeAnew(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		servicetest.Once(t, c)
		if err := os.Remove(ringFile(c)); err != nil {
			t.Fatal(err)
		}
		err := servicetest.Try(t, c)
		if !errors.Is(err, secret.ErrKeyMismatch) || !strings.Contains(err.Error(), "secret_store_key_mismatch: the key ring "+ringFile(c)+" is not there") {
			t.Errorf("serve: %v", err)
		}
		if _, err := os.Stat(ringFile(c)); err == nil {
			t.Error("a key ring was made over old data")
		}
	})
}

func TestWrongKeyRingIsRefused(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	before, err := os.ReadFile(ringFile(c))
	if err != nil {
		t.Fatal(err)
	}
	kid := readRing(t, ringFile(c)).Active
	for name, text := range map[string]string{
		"another kid":          `{"active":"other","keys":{"other":"` + strings.Repeat("A", 43) + `="}}`,
		"another key of a kid": `{"active":"` + kid + `","keys":{"` + kid + `":"` + strings.Repeat("A", 43) + `="}}`,
	} {
		if err := os.WriteFile(ringFile(c), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := servicetest.Try(t, c); !errors.Is(err, secret.ErrKeyMismatch) || !strings.HasPrefix(err.Error(), "secret_store_key_mismatch: ") || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(ringFile(c), before, 0o600); err != nil {
		t.Fatal(err)
	}
	servicetest.Once(t, c)
}

func TestKeyRingThatOthersReadIsRefused(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	if err := os.Chmod(ringFile(c), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := servicetest.Try(t, c); err == nil || !strings.Contains(err.Error(), "has mode 0644") {
		t.Errorf("serve: %v", err)
	}
}

func TestKeyRingOfTheEnvironmentNeedsNoFile(t *testing.T) {
	c := servicetest.Config(t)
	c.KeysRing = secret.Hide(`{"active":"k1","keys":{"k1":"` + strings.Repeat("A", 43) + `="}}`)
	servicetest.Once(t, c)
	if _, err := os.Stat(ringFile(c)); err == nil {
		t.Error("a file was made")
	}
	servicetest.Once(t, c)
}

func TestSecondNodeDoesNotBringItsOwnKeys(t *testing.T) {
	a, b := servicetest.Config(t), servicetest.Config(t)
	a.Database = sqldbtest.Schema(t)
	b.Database = a.Database
	servicetest.Start(t, a)
	if err := servicetest.Try(t, b); !errors.Is(err, secret.ErrKeyMismatch) {
		t.Errorf("serve: %v", err)
	}
	if _, err := os.Stat(ringFile(b)); err == nil {
		t.Error("it made a key ring")
	}
	text, err := os.ReadFile(ringFile(a))
	if err != nil {
		t.Fatal(err)
	}
	b.KeysRing = secret.Hide(string(text))
	servicetest.Start(t, b)
}

func TestReloadReadsTheKeyRingAgain(t *testing.T) {
	a, b := servicetest.Config(t), servicetest.Config(t)
	a.Database = sqldbtest.Schema(t)
	b.Database = a.Database
	one := servicetest.Start(t, a)
	text, err := os.ReadFile(ringFile(a))
	if err != nil {
		t.Fatal(err)
	}
	b.KeysFile = filepath.Join(t.TempDir(), "keys.json")
	copyRing := func() {
		if text, err = os.ReadFile(ringFile(a)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.KeysFile, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copyRing()
	two := servicetest.Start(t, b)

	// The first node goes to a key that the second does not have.
	operator(t, a, func(o operate.Operator) {
		if _, err := o.RotateKeys(t.Context(), operate.Rotate{OnlyNode: true}, func(operate.Rotation) {}); err != nil {
			t.Fatal(err)
		}
	})
	if got := servicetest.Ask(t, "GET", one.Operations+"/readyz"); got.Status != 200 {
		t.Errorf("one: %d %s", got.Status, got.Body)
	}
	if got := servicetest.Ask(t, "GET", two.Operations+"/readyz"); got.Status != 503 || !strings.Contains(got.Body, "which is not in the ring of this node") {
		t.Errorf("two: %d %s", got.Status, got.Body)
	}
	copyRing()
	two.Reload <- os.Interrupt
	ready(t, two)
}

// ready waits until the service says that it is.
func ready(t *testing.T, s *servicetest.Served) {
	t.Helper()
	servicetest.Eventually(t, "the service is ready", func() bool { return servicetest.Ask(t, "GET", s.Operations+"/readyz").Status == 200 })
}

func TestReloadOfAWrongKeyRingChangesNothing(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	before, err := os.ReadFile(ringFile(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{}", `{"active":"other","keys":{"other":"` + strings.Repeat("A", 43) + `="}}`} {
		if err := os.WriteFile(ringFile(c), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Reload <- os.Interrupt
		s.Reload <- os.Interrupt // taken when the one before was done
		ready(t, s)
	}
	if err := os.WriteFile(ringFile(c), before, 0o600); err != nil {
		t.Fatal(err)
	}
	operator(t, c, func(o operate.Operator) {
		if _, err := o.CreateAdmin(t.Context(), ada); err != nil {
			t.Error(err)
		}
	})
}
