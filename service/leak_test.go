package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/surface"
)

// spellings are the forms in which a value can stand in a text.
func spellings(value string) []string {
	quoted, _ := json.Marshal(value)
	return []string{
		value, base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)),
		strings.ToUpper(hex.EncodeToString([]byte(value))), url.QueryEscape(value), url.PathEscape(value), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte("x" + value))[2:], fmt.Sprintf("%q", value),
	}
}

// hits counts how many of the values a text holds, in any spelling.
func hits(text []byte, values []string) (found int) {
	for _, value := range values {
		for _, form := range spellings(value) {
			if bytes.Contains(text, []byte(form)) {
				found++
				break
			}
		}
	}
	return found
}

// TestPlantedSecretsAreInNoLogNoDatabaseAndNoAnswer seals many values, lets everything fail with them in every
// spelling, and looks for them.
func TestPlantedSecretsAreInNoLogNoDatabaseAndNoAnswer(t *testing.T) {
	values := make([]string, 100)
	if os.Getenv("SVC_SOAK") != "" {
		values = make([]string, 1000)
	}
	for i := range values {
		values[i] = "planted/" + rand.Text()[:12] + "+é\"" + fmt.Sprint(i)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	h := openHouse(t, dir, slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	plant(t, h, values)
	bodies := failWith(t, h, values)
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() < 100_000 || bodies.Len() < 50_000 {
		t.Fatalf("%d bytes of log, %d of answers: nothing was tried", out.Len(), bodies.Len())
	}
	for name, text := range map[string][]byte{"the log": out.Bytes(), "the answers": bodies.Bytes(), "the database": databaseText(t, dir)} {
		if n := hits(text, values); n > 0 {
			t.Errorf("%s: %d of %d values", name, n, len(values))
		}
	}
}

// openHouse is the rooms of a fresh SQLite database.
func openHouse(t *testing.T, dir string, log *slog.Logger) *house {
	t.Helper()
	c := config.Config{DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "svc.db")}.WithDefaults()
	db, err := sqldb.Open(t.Context(), c.Database, sqldb.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{config: c, surfaces: c.Surfaces(), db: db}
	h.log, h.redactor = redacted(log)
	if err := db.Migrate(t.Context(), database.Rooms...); err != nil {
		t.Fatal(err)
	}
	if err := h.furnish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func plant(t *testing.T, h *house, values []string) {
	t.Helper()
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i, value := range values {
			owner := secret.Owner{Kind: secret.Business, Scope: fmt.Sprintf("users/ada/b%d", i%10)}
			if _, err := h.secrets.Seal(tx, owner, fmt.Sprintf("NAME_%d", i), []byte(value), "acc_test"); err != nil {
				return err
			}
		}
		return h.audit.Append(t.Context(), tx, audit.Event{Action: "secret.sealed", Target: audit.Target{Kind: "secret", ID: "all"}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// failWith lets the log and the front door meet every value in every spelling, and gathers the answers.
func failWith(t *testing.T, h *house, values []string) *bytes.Buffer {
	t.Helper()
	var failing string
	at := facing(h.surfaces)
	door := gateway.New(gateway.Config{
		DB: h.db, Rooms: operation.Rooms{Accounts: h.accounts, Keys: h.apikeys, Apps: h.apps, Audit: h.audit}, Log: h.log, Redactor: h.redactor,
		Config:  surface.Config{Surfaces: at, CookieDomain: "svc.localhost", Development: true},
		Pages:   page.New(page.Config{Platform: at.Platform.String(), Agents: at.Agents.String(), Admin: at.Admin.String()}),
		Runtime: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(failing) }),
	})
	var bodies bytes.Buffer
	for _, value := range values {
		for _, form := range spellings(value) {
			h.log.Error("upstream failed: "+form, "error", errors.New("it said "+form), "body", form, slog.Group("g", "v", []byte(form)))
			h.log.Info("asked", "any", map[string]string{"k": form})
			failing = form
			for _, path := range []string{"/api/auth/session", "/v1/ada/personal/channels/x/y", "/api/none/" + url.PathEscape(form)} {
				r := httptest.NewRequestWithContext(h.broken(t.Context(), form), http.MethodPost, "http://"+at.Agents.Host+path, strings.NewReader("{}"))
				w := httptest.NewRecorder()
				door.ServeHTTP(w, r)
				fmt.Fprintln(&bodies, w.Code, w.Header(), w.Body)
			}
		}
	}
	return &bodies
}

// broken is a context whose end names the value, as an error of anything below might.
func (h *house) broken(ctx context.Context, form string) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(fault.Unexpected(errors.New(form)))
	return ctx
}

// databaseText is every byte that the database has on disk.
func databaseText(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, name := range []string{"svc.db", "svc.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if len(all) < 200_000 {
		t.Fatalf("%d bytes of database: nothing was planted", len(all))
	}
	return all
}
