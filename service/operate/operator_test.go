package operate_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

var ada = operate.NewAdmin{Email: "ada@example.com", Username: "ada", Password: "a long and quiet sentence"}

// operator does something as whoever holds the machine.
func operator(t *testing.T, c config.Config, do func(operate.Operator)) {
	t.Helper()
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("operate: %v", err)
	}
	do(o)
	if err := o.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// runningAndNot runs fn while a service runs on the folder, and while none does.
func runningAndNot(t *testing.T, fn func(t *testing.T, c config.Config)) {
	t.Run("running", func(t *testing.T) {
		c := servicetest.Config(t)
		servicetest.Start(t, c)
		fn(t, c)
	})
	t.Run("alone", func(t *testing.T) {
		c := servicetest.Config(t)
		servicetest.Once(t, c)
		fn(t, c)
	})
}

func TestAdministratorIsMadeOnTheMachine(t *testing.T) {
	runningAndNot(t, func(t *testing.T, c config.Config) {
		operator(t, c, func(o operate.Operator) {
			p, err := o.CreateAdmin(t.Context(), ada)
			if err != nil || !strings.HasPrefix(p.ID, "acc_") || p.Username != "ada" || p.Email != ada.Email || p.Role != "admin" {
				t.Fatalf("%+v %v", p, err)
			}
			for role, want := range map[string]string{"none": "", "support": "", "admin": "", "owner": " role: invalid."} {
				p, err := o.Grant(t.Context(), operate.Grant{AccountID: p.ID, Role: role})
				if want == "" && (err != nil || p.Role != role) || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
					t.Errorf("%s: %+v %v", role, p, err)
				}
			}
			for _, g := range []operate.Grant{{Username: "ada"}, {Email: ada.Email}} {
				g.Role = "admin"
				if p, err := o.Grant(t.Context(), g); err != nil || p.Username != "ada" {
					t.Errorf("%+v: %+v %v", g, p, err)
				}
			}
			if _, err := o.Grant(t.Context(), operate.Grant{Username: "bob", Role: "admin"}); err == nil || err.Error() != "No account is called bob." {
				t.Errorf("unknown name: %v", err)
			}
			if _, err := o.Grant(t.Context(), operate.Grant{AccountID: "acc_none", Role: "admin"}); err == nil || strings.Contains(err.Error(), "item_not_found") {
				t.Errorf("unknown account: %v", err)
			}
			if _, err := o.CreateAdmin(t.Context(), operate.NewAdmin{Email: "ada", Password: "short"}); err == nil || !strings.HasSuffix(err.Error(), " email: invalid. password: too short.") {
				t.Errorf("refused: %v", err)
			}
			if _, err := o.CreateAdmin(t.Context(), ada); err == nil {
				t.Error("the same address twice")
			}
		})
	})
}

func TestAuditLogIsVerified(t *testing.T) {
	runningAndNot(t, func(t *testing.T, c config.Config) {
		operator(t, c, func(o operate.Operator) {
			if _, err := o.CreateAdmin(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
			r, err := o.VerifyAudit(t.Context())
			if err != nil || !r.OK() || r.Events == 0 {
				t.Errorf("%+v %v", r, err)
			}
		})
	})
}

func TestStopLeavesACheckpoint(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	operator(t, c, func(o operate.Operator) {
		if _, err := o.CreateAdmin(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
	})
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Fatal(err)
	}
	change(t, "sqlite:"+filepath.Join(c.DataDir, "svc.db"), "DELETE FROM audit_events WHERE chain = 'users/ada/personal'")
	change(t, "sqlite:"+filepath.Join(c.DataDir, "svc.db"), "DELETE FROM audit_heads WHERE chain = 'users/ada/personal'")
	operator(t, c, func(o operate.Operator) {
		r, err := o.VerifyAudit(t.Context())
		if err != nil || r.OK() || r.Checkpoints == 0 || r.Faults[0].Chain != "users/ada/personal" {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestChangedAuditLogIsNamed(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		servicetest.Once(t, c)
		operator(t, c, func(o operate.Operator) {
			if _, err := o.CreateAdmin(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
		})
		change(t, address, "UPDATE audit_events SET action = 'admin.forged' WHERE chain = 'users/ada/personal' AND seq = 1")
		operator(t, c, func(o operate.Operator) {
			r, err := o.VerifyAudit(t.Context())
			if err != nil || r.OK() || r.Faults[0].Chain != "users/ada/personal" || r.Faults[0].Seq != 1 {
				t.Errorf("%+v %v", r, err)
			}
		})
	})
}

// change runs one statement on a database that nobody has open.
func change(t *testing.T, address, statement string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		n, err := tx.Exec(statement)
		if err == nil && n == 0 {
			err = errors.New("no row was changed")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeysAreRotated(t *testing.T) {
	runningAndNot(t, func(t *testing.T, c config.Config) {
		old := readRing(t, ringFile(c)).Active
		operator(t, c, func(o operate.Operator) {
			told := 0
			r, err := o.RotateKeys(t.Context(), operate.Rotate{OnlyNode: true}, func(operate.Rotation) { told++ })
			if err != nil || r.Added == "" || r.Active != r.Added || r.Rewrapped == 0 || r.Left() != 0 || r.Rows[old] != 0 || len(r.Todo) != 1 || told < 2 {
				t.Fatalf("%+v %v, told %d times", r, err, told)
			}
			if ring := readRing(t, ringFile(c)); ring.Active != r.Added || len(ring.Keys) != 2 {
				t.Errorf("ring: %v", ring.Active)
			}
			done, err := o.RotateKeys(t.Context(), operate.Rotate{RemoveOld: true, OnlyNode: true}, func(operate.Rotation) {})
			if err != nil || done.Added != "" || done.Active != r.Active || !slices.Equal(done.Removed, []string{old}) || len(done.Todo) != 0 {
				t.Errorf("%+v %v", done, err)
			}
		})
		ring := readRing(t, ringFile(c))
		if len(ring.Keys) != 1 || ring.Keys[old] != "" {
			t.Errorf("ring: %v", ring.Active)
		}
		if stat, err := os.Stat(ringFile(c)); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", stat, err)
		}
	})
}

func TestRotatedServiceStartsAgain(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	for range 2 {
		operator(t, c, func(o operate.Operator) {
			if r, err := o.RotateKeys(t.Context(), operate.Rotate{RemoveOld: true}, func(operate.Rotation) {}); err != nil || r.Added == "" || len(r.Removed) != 1 {
				t.Fatalf("%+v %v", r, err)
			}
		})
		servicetest.Once(t, c)
	}
}

// A rotation that was killed after the new key became active goes on, and adds no other.
func TestInterruptedRotationGoesOn(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	ring, err := secret.ReadRing(ringFile(c))
	if err != nil {
		t.Fatal(err)
	}
	more, kid, err := ring.Add()
	if err != nil {
		t.Fatal(err)
	}
	active, err := more.Activate(kid)
	if err != nil {
		t.Fatal(err)
	}
	if err := active.Replace(ringFile(c)); err != nil {
		t.Fatal(err)
	}
	operator(t, c, func(o operate.Operator) {
		r, err := o.RotateKeys(t.Context(), operate.Rotate{}, func(operate.Rotation) {})
		if err != nil || r.Added != "" || r.Active != kid || r.Rewrapped == 0 || r.Left() != 0 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestRotationWaitsForOtherNodes(t *testing.T) {
	c := servicetest.Config(t)
	c.Database = sqldbtest.Schema(t)
	servicetest.Start(t, c)
	old := readRing(t, ringFile(c)).Active
	operator(t, c, func(o operate.Operator) {
		r, err := o.RotateKeys(t.Context(), operate.Rotate{}, func(operate.Rotation) {})
		if err != nil || r.Added == "" || r.Active != old || r.Rewrapped != 0 || len(r.Todo) == 0 || !strings.Contains(r.Todo[0], "give "+ringFile(c)+" to every other node") {
			t.Fatalf("%+v %v", r, err)
		}
		again, err := o.RotateKeys(t.Context(), operate.Rotate{}, func(operate.Rotation) {})
		if err != nil || again.Added != "" || again.Active != old || len(again.Todo) == 0 || !strings.Contains(again.Todo[0], r.Added) {
			t.Errorf("%+v %v", again, err)
		}
	})
}

func TestKeyRingOfTheEnvironmentIsRotatedByHand(t *testing.T) {
	c := servicetest.Config(t)
	one := strings.Repeat("A", 43) + "="
	c.KeysRing = secret.Hide(`{"active":"k1","keys":{"k1":"` + one + `"}}`)
	servicetest.Once(t, c)
	rotate := func() (r operate.Rotation) {
		operator(t, c, func(o operate.Operator) {
			var err error
			if r, err = o.RotateKeys(t.Context(), operate.Rotate{}, func(operate.Rotation) {}); err != nil {
				t.Fatal(err)
			}
		})
		return r
	}
	if r := rotate(); r.Added != "" || len(r.Todo) == 0 || !strings.Contains(r.Todo[0], "openssl rand") {
		t.Errorf("%+v", r)
	}
	c.KeysRing = secret.Hide(`{"active":"k2","keys":{"k1":"` + one + `","k2":"B` + one[1:] + `"}}`)
	if r := rotate(); r.Active != "k2" || r.Rewrapped == 0 || r.Left() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestOperatorMakesNoDatabase(t *testing.T) {
	c := servicetest.Config(t)
	if _, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "there is no database at ") {
		t.Errorf("operate: %v", err)
	}
	if _, err := os.Stat(c.DataDir); err == nil {
		t.Error("the data folder was made")
	}
}

// TestOperatorIsToldWhichBinaryFits looks at tables that are older than the binary, and at newer ones.
func TestOperatorIsToldWhichBinaryFits(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	try := func(statement string) error {
		change(t, "sqlite:"+filepath.Join(c.DataDir, "svc.db"), statement)
		_, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
		return err
	}
	err := try("INSERT INTO runtime_schema (version_id, is_applied) VALUES (99, TRUE)")
	if _, newer := errors.AsType[*sqldb.NewerError](err); !newer || strings.Contains(err.Error(), "svc migrate") {
		t.Errorf("of a newer one: %v", err)
	}
	err = try("DELETE FROM runtime_schema WHERE version_id > 5")
	if _, behind := errors.AsType[*service.BehindError](err); !behind || !strings.Contains(err.Error(), "run svc migrate first") {
		t.Errorf("of an older one: %v", err)
	}
}

func TestOperatorIsToldWhoHoldsTheFolder(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Start(t, c)
	c.AdminSocket = filepath.Join(c.DataDir, "other.sock")
	if _, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "does not answer on "+c.AdminSocket) {
		t.Errorf("operate: %v", err)
	}
}

func TestAdminSocketIsTheOperatorsAlone(t *testing.T) {
	c := servicetest.Config(t)
	path := filepath.Join(c.DataDir, "admin.sock")
	s := servicetest.Start(t, c)
	stat, err := os.Stat(path)
	if err != nil || stat.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("%v %v", stat, err)
	}
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket outlived the service")
	}

	// What a killed process left behind is replaced.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	servicetest.Start(t, c)
	operator(t, c, func(o operate.Operator) {
		if _, err := o.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAdminSocketOfAnotherIsNotTaken(t *testing.T) {
	a, b := servicetest.Config(t), servicetest.Config(t)
	servicetest.Start(t, a)
	b.AdminSocket = filepath.Join(a.DataDir, "admin.sock")
	if err := servicetest.Try(t, b); err == nil || !strings.Contains(err.Error(), "admin_socket: another process answers") {
		t.Errorf("serve: %v", err)
	}
	b.AdminSocket = filepath.Join(a.DataDir, "svc.db")
	if err := servicetest.Try(t, b); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("serve: %v", err)
	}
	b.AdminSocket = filepath.Join(a.DataDir, strings.Repeat("x", 200))
	if err := servicetest.Try(t, b); err == nil || !strings.Contains(err.Error(), "too long for a socket") {
		t.Errorf("serve: %v", err)
	}
}
