package page

import (
	"strconv"
	"time"

	"svc.dev/svc/internal/amount"
)

// Pair is the page at DevicePath, where a person types the code that a program shows them. Its form posts user_code and, where there is a
// choice, workspace.
type Pair struct {
	Desk
	// Code is what was typed, or what the address has.
	Code string
	// Workspaces are those where this person may let a program in, and Workspace the address of the one that was chosen.
	Workspaces []Workspace
	Workspace  string
}

func (p Pair) sheet() sheet {
	s := sheet{name: "pair", title: "Connect a device", shell: slip, fields: []string{"user_code"}}
	if p.Chooses() {
		s.fields = append(s.fields, "workspace")
	}
	return s
}

// Chooses reports whether there is more than one workspace to choose from.
func (p Pair) Chooses() bool { return len(p.Workspaces) > 1 }

// Pairing is the same page when the code is known: who asks for a key, and for what it is to be. Its form posts user_code, workspace, scopes,
// days and decision.
type Pairing struct {
	Desk
	Code string
	// Client is what the program calls itself, and IP the address that it asked from.
	Client, IP         string
	AskedAt, ExpiresAt time.Time
	Workspace          Workspace
	// Allowed are the scopes that this person's role allows, Scopes those that are chosen, and Days for how long.
	Allowed, Scopes []string
	Days            int64
}

func (p Pairing) sheet() sheet {
	s := sheet{name: "pairing", title: "Connect this device?", shell: slip, fields: []string{"scopes", "days"}}
	if len(p.Choices()) == 0 {
		s.fields = s.fields[1:]
	}
	return s
}

// Choices are the scopes that can be given, with those marked that were chosen.
func (p Pairing) Choices() []scopeChoice { return choices(p.Allowed, p.Scopes) }

// longestPairing is for how many days a program can be let in.
const longestPairing = 90

// stays are the lengths of life that the key of a device is offered. Marked is the one that was chosen, else the longest.
func (p *Pages) stays(chosen int64) (all []term) {
	for _, days := range lives {
		if days <= longestPairing {
			all = append(all, term{Value: strconv.Itoa(days), Text: p.until(days), Chosen: int64(days) == chosen})
		}
	}
	if chosen == 0 {
		all[len(all)-1].Chosen = true
	}
	return all
}

// until is a length of life, and when it ends that begins now.
func (p *Pages) until(days int) string {
	return amount.Of(days, "day") + ", until " + day(p.config.Now().UTC().AddDate(0, 0, days))
}
