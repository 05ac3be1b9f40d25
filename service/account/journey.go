package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// Redirect sends a browser to a provider. Browser is the value of the cookie by which it is recognised when it comes back;
// the cookie lives as long as Life.
type Redirect struct {
	URL     string
	Browser string
	Life    time.Duration
}

// Journey is what a state remembers of somebody who leaves for a provider until they come back. A room that sends people there
// embeds it in what it wants to remember itself.
type Journey struct {
	Provider string `json:"provider"`
	Browser  string `json:"browser"`           // fingerprint of its value; empty: the session is enough
	Session  string `json:"session,omitempty"` // empty: nobody needs to be signed in
	ReturnTo string `json:"returnTo,omitempty"`
}

// NewJourney leads to a provider, in the browser of that value.
func NewJourney(provider, browser string) Journey {
	return Journey{Provider: provider, Browser: secret.Fingerprint(browser)}
}

func (j *Journey) base() *Journey { return j }

// journeying is a Journey, or what embeds one.
type journeying interface{ base() *Journey }

// State is the value that a provider sends back with a browser, and what for.
type State struct {
	Value   string
	Purpose string
	Life    time.Duration
	Who     *Who // nil: nobody needs to be signed in
}

// Arrival is somebody who comes back from a provider, as far as it can be believed.
type Arrival struct {
	Provider string
	State    string
	Browser  string
	Who      *Who // nil: not signed in
}

// Depart stores a state. Where the journey is of somebody signed in, it ends with their account.
func Depart(tx *sqldb.Tx, now time.Time, s State, j journeying) error {
	account := ""
	if s.Who != nil {
		j.base().Session, account = s.Who.Session.ID, s.Who.Account.ID
	}
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	return keep(tx, now, s.Value, token{purpose: s.Purpose, account: account, data: string(data), life: s.Life})
}

// Arrive uses a state up, wherever it is shown, and reports whether it was made for this purpose, provider, browser and
// session. What it reports must not fail the transaction: a state that was refused is used too.
func Arrive(tx *sqldb.Tx, now time.Time, purpose string, at Arrival, j journeying) (ok bool, err error) {
	t, found, err := use(tx, now, at.State, purpose)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal([]byte(t.data), j); err != nil {
		return false, fmt.Errorf("read state: %w", err)
	}
	left := j.base()
	if left.Provider != at.Provider || !left.recognises(at.Browser) {
		return false, nil
	}
	if left.Session != "" && (at.Who == nil || at.Who.Session.ID != left.Session || at.Who.Account.ID != t.account) {
		return false, nil
	}
	return true, nil
}

// ComeBack is Arrive in a transaction of its own, and the refusal of somebody whose journey is not known.
func ComeBack(ctx context.Context, db *sqldb.DB, now time.Time, purpose string, at Arrival, j journeying) error {
	ok, err := sqldb.Write(ctx, db, func(tx *sqldb.Tx) (bool, error) { return Arrive(tx, now, purpose, at, j) })
	if err == nil && !ok {
		err = StateRefused()
	}
	return err
}

// StateRefused is the refusal of somebody whose journey is not known.
func StateRefused() error {
	return fault.New(InvalidState, "This sign-in cannot be continued.",
		"It was finished before, it took too long, or it began in another browser. Start again.")
}

// recognises reports whether a browser may be the one that left. A journey that begins on another surface than it ends cannot mark
// the browser there: it is that of the session alone.
func (j *Journey) recognises(browser string) bool {
	if j.Browser == "" {
		return j.Session != ""
	}
	return sameBrowser(j.Browser, browser)
}

// sameBrowser reports whether a browser's value is the one of the fingerprint. No value is that of no browser.
func sameBrowser(print, browser string) bool {
	return browser != "" && subtle.ConstantTimeCompare([]byte(print), []byte(secret.Fingerprint(browser))) == 1
}

// markBrowser keeps the value that a browser has, so that two of its tabs can be away at once, or makes one.
func markBrowser(browser string) string {
	if value, err := base64.RawURLEncoding.DecodeString(browser); err == nil && len(value) == 32 {
		return browser
	}
	return secret.Random()
}
