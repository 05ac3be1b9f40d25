package page

import (
	"cmp"
	"net/http"
	"time"
)

// Failure is a refusal that has no page of its own.
type Failure struct {
	Status  int
	Message string // one sentence
	Details string
	// RetryAfter is how long to wait. Zero: it is not said.
	RetryAfter time.Duration
	// Connect is where the person connects their GitHub account, which is what is missing. Empty: nothing is missing there.
	Connect string
}

func (f Failure) sheet() sheet { return sheet{name: "failure", title: f.Heading(), shell: slip} }

// headings name a status in words.
var headings = map[int]string{
	http.StatusUnauthorized:       "Sign in to go on",
	http.StatusForbidden:          "This is not allowed",
	http.StatusNotFound:           "Not here, or not yours",
	http.StatusMethodNotAllowed:   "This address does not take that",
	http.StatusConflict:           "This cannot be done now",
	http.StatusGone:               "This is over",
	http.StatusMisdirectedRequest: "Nothing answers at this name",
	http.StatusTooManyRequests:    "Too many attempts",
	http.StatusBadGateway:         "The other side did not answer well",
	http.StatusServiceUnavailable: "Not available now",
	http.StatusGatewayTimeout:     "The other side took too long",
}

// Heading is the status in words.
func (f Failure) Heading() string {
	otherwise := "This did not work"
	if f.Status >= 500 {
		otherwise = "Something went wrong here"
	}
	return cmp.Or(headings[f.Status], otherwise)
}

func (f Failure) form() Form { return Form{RetryAfter: f.RetryAfter} }

// Waiting says that an organization's owner must approve what a member asked for.
type Waiting struct{}

func (Waiting) sheet() sheet {
	return sheet{name: "waiting", title: "Waiting for an organization owner", shell: slip}
}

// ManifestPost hands a manifest to the provider: a form that a script with the nonce submits, and a person where scripts
// are off. Its policy allows no style, so the page has none.
type ManifestPost struct {
	Action   string // where the provider takes manifests, with the state
	Manifest string // JSON
	Nonce    string // of the script
}

func (ManifestPost) sheet() sheet {
	return sheet{name: "manifest", title: "Continue to GitHub", shell: plain}
}

func (m ManifestPost) policy() string {
	return "default-src 'none'; form-action " + origin(m.Action) + "; script-src 'nonce-" + m.Nonce + "'; frame-ancestors 'none'; base-uri 'none'"
}
