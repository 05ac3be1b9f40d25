package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"svc.dev/svc/fault"
)

// Verify reports whether the header X-Hub-Signature-256 proves that who knows the secret sent the body. The older SHA-1
// header proves nothing.
func Verify(secret, header string, body []byte) bool {
	digits, ok := strings.CutPrefix(header, "sha256=")
	claimed, err := hex.DecodeString(digits)
	// Everybody can sign with an empty secret.
	if !ok || err != nil || secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal(claimed, mac.Sum(nil))
}

// The events that the accounts themselves live by. All others belong to the workspaces of their installation.
const (
	EventPing          = "ping"
	EventInstallation  = "installation"
	EventRepositories  = "installation_repositories"
	EventAuthorization = "github_app_authorization"
)

// Event is a delivery as far as the accounts read it.
type Event struct {
	Name         string
	Action       string  // created, deleted, suspend, revoked …; empty where the event has none
	Installation int64   // 0: it is of none
	AppID        int64   // of the installation, where it is told
	Account      Account // that the installation is on, where it is told
	Selection    string  // of repositories, all or selected, where it is told
	Requester    Account // who had asked an owner for the installation; zero: nobody
	Sender       Account // who did it; of github_app_authorization, whose tokens died
}

var eventGrammar = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ParseEvent reads a verified delivery. Of an event that the accounts do not live by it reads the installation alone.
func ParseEvent(name string, body []byte) (Event, error) {
	if !eventGrammar.MatchString(name) {
		return Event{}, fault.Invalid("X-GitHub-Event is not the name of an event.")
	}
	o, err := parseObject(body)
	if err != nil {
		return Event{}, fault.New(fault.InvalidJSON, "Request body is not valid JSON.", "A delivery is one object.")
	}
	e := Event{Name: name, Action: o.text("action")}
	if !e.readInstallation(o["installation"]) {
		return Event{}, fault.Invalid("The installation is not one.")
	}
	if err := e.readRest(o); err != nil {
		return Event{}, err
	}
	return e, nil
}

// readRest takes what the event itself is about.
func (e *Event) readRest(o object) error {
	e.Sender = accountOf(o["sender"])
	switch e.Name {
	case EventAuthorization:
		if e.Sender.ID == 0 || e.Action == "" {
			return fault.Invalid("The delivery names no sender or no action.")
		}
	case EventInstallation, EventRepositories:
		if e.Installation == 0 || e.Action == "" {
			return fault.Invalid("The delivery names no installation or no action.")
		}
		e.Requester = accountOf(o["requester"])
		// What is chosen now stands beside the installation.
		if chosen := o.text("repository_selection"); chosen != "" {
			e.Selection = chosen
		}
		if e.Selection != "all" && e.Selection != "selected" {
			e.Selection = ""
		}
		return checkRepositories(o)
	}
	return nil
}

// readInstallation takes what is told of an installation; none at all is fine.
func (e *Event) readInstallation(raw json.RawMessage) bool {
	if len(raw) == 0 || string(raw) == "null" {
		return true
	}
	var v struct {
		ID        int64
		AppID     int64 `json:"app_id"`
		Account   Account
		Selection string `json:"repository_selection"`
	}
	if json.Unmarshal(raw, &v) != nil || v.ID <= 0 {
		return false
	}
	e.Installation, e.AppID, e.Account, e.Selection = v.ID, v.AppID, v.Account, v.Selection
	return true
}

// accountOf is an account that is told of; zero: none is.
func accountOf(raw json.RawMessage) (a Account) {
	if json.Unmarshal(raw, &a) != nil || a.ID <= 0 {
		return Account{}
	}
	return a
}

// checkRepositories refuses lists of what an installation reaches, now or no longer, that are none.
func checkRepositories(o object) error {
	for _, name := range []string{"repositories", "repositories_added", "repositories_removed"} {
		if len(o[name]) == 0 {
			continue
		}
		var items []json.RawMessage
		if json.Unmarshal(o[name], &items) != nil {
			return fault.Invalid("The repositories are not a list.")
		}
		for _, item := range items {
			if _, err := parseRepository(item); err != nil {
				return fault.Invalid("A repository is not one.")
			}
		}
	}
	return nil
}
