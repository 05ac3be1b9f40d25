package account

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// How long somebody may stay away.
const (
	signInLife   = 10 * time.Minute
	manifestLife = time.Hour
	installLife  = time.Hour
	ticketLife   = 10 * time.Minute
)

// Redirect sends a browser to a provider. Browser is the value of the cookie by which it is recognised when it comes back;
// the cookie lives as long as Life.
type Redirect struct {
	URL     string
	Browser string
	Life    time.Duration
}

// journey is what a state remembers of somebody who leaves for a provider until they come back.
type journey struct {
	Provider string `json:"provider"`
	Browser  string `json:"browser"`           // fingerprint of its value
	Session  string `json:"session,omitempty"` // empty: nobody needs to be signed in

	// Of a sign-in.
	Intent   string `json:"intent,omitempty"`
	ReturnTo string `json:"returnTo,omitempty"`
	Verifier []byte `json:"verifier,omitempty"` // sealed

	// Of a manifest.
	Owner   string `json:"owner,omitempty"`
	App     string `json:"app,omitempty"` // its name
	Replace bool   `json:"replace,omitempty"`
	Version int64  `json:"version,omitempty"` // of the app that it replaces

	// Of an installation.
	Scope string `json:"scope,omitempty"`
}

// arrival is somebody who comes back from a provider, as far as it can be believed.
type arrival struct {
	provider string
	state    string
	browser  string
	who      *Who // nil: not signed in
}

// depart stores a state. Where the journey is of somebody signed in, it ends with their account.
func (a *Accounts) depart(tx *sqldb.Tx, state, purpose string, j journey, who *Who, life time.Duration) error {
	account := ""
	if who != nil {
		j.Session, account = who.Session.ID, who.Account.ID
	}
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	return a.keep(tx, state, token{purpose: purpose, account: account, data: string(data), life: life})
}

// arrive uses a state up, wherever it is shown, and reports whether it was made for this purpose, provider, browser and
// session. What it reports must not fail the transaction: a state that was refused is used too.
func (a *Accounts) arrive(tx *sqldb.Tx, purpose string, at arrival) (j journey, ok bool, err error) {
	t, found, err := a.use(tx, at.state, purpose)
	if err != nil || !found {
		return j, false, err
	}
	if err := json.Unmarshal([]byte(t.data), &j); err != nil {
		return j, false, fmt.Errorf("read state: %w", err)
	}
	if j.Provider != at.provider || !sameBrowser(j.Browser, at.browser) {
		return j, false, nil
	}
	if j.Session != "" && (at.who == nil || at.who.Session.ID != j.Session || at.who.Account.ID != t.account) {
		return j, false, nil
	}
	return j, true, nil
}

// sameBrowser reports whether a browser's value is the one of the fingerprint. No value is that of no browser.
func sameBrowser(print, browser string) bool {
	return browser != "" && subtle.ConstantTimeCompare([]byte(print), []byte(fingerprint(browser))) == 1
}

// markBrowser keeps the value that a browser has, so that two of its tabs can be away at once, or makes one.
func markBrowser(browser string) string {
	if value, err := base64.RawURLEncoding.DecodeString(browser); err == nil && len(value) == 32 {
		return browser
	}
	return random()
}

func invalidState() error {
	return fault.New(InvalidState, "This sign-in cannot be continued.",
		"It was finished before, it took too long, or it began in another browser. Start again.")
}
