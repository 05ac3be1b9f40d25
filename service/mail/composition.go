package mail

import (
	"embed"
	"errors"
	"fmt"
	html "html/template"
	"io/fs"
	"path"
	"strings"
	text "text/template"
	"time"
)

//go:embed templates
var templates embed.FS

// letter is a mail as it is sealed: all that is needed to send it.
type letter struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
	Link    string `json:"link"`

	kind   string
	secret bool          // the link holds a token
	life   time.Duration // after which it is of no use to its reader
}

// maxReason is how much of a reason a mail repeats, in characters.
const maxReason = 200

// maxLife is how long a mail is tried at most.
const maxLife = 24 * time.Hour

// view is what a template sees.
type view struct {
	Brand, Subject string
	Home           string // the service
	Link           string // what the mail asks to open
	Forgot         string // where a new password is asked for
	Life           string // how long the link works
	Until          string // the day on which it ends
	At             string // when it happened
	Provider, Name string
	Inviter        string
	Reason         string
	Percent        int
}

// compose writes a mail out.
func (o *Outbox) compose(to string, d Content) (letter, error) {
	if err := checkAddress(to); err != nil {
		return letter{}, err
	}
	if d.kind == "" {
		return letter{}, errors.New("the mail has no content")
	}
	if err := d.check(); err != nil {
		return letter{}, fmt.Errorf("%s: %w", d.kind, err)
	}
	now := o.config.Now().UTC()
	v := view{
		Brand: o.config.Brand, Subject: d.subject, Home: o.config.URL, Link: o.config.URL + d.path, Forgot: o.config.URL + forgotPath,
		Life: span(d.life), Until: now.Add(d.life).Format("2 January 2006"), At: now.Format("2 January 2006 at 15:04 UTC"),
		Provider: printable(d.provider), Name: printable(d.name), Inviter: printable(d.inviter),
		Reason: clipped(d.reason, maxReason), Percent: d.percent,
	}
	l := letter{To: to, Subject: d.subject, kind: d.kind, secret: d.hasToken(), life: maxLife}
	if l.secret {
		v.Link += "#t=" + d.token
		l.life = min(d.life, maxLife)
	}
	l.Link = v.Link
	var err error
	l.Text, l.HTML, err = forms[d.kind].write(v)
	return l, err
}

// templatePair is the two templates of a kind.
type templatePair struct {
	text *text.Template
	html *html.Template
}

var forms = readForms()

func readForms() map[string]templatePair {
	pages, err := fs.Glob(templates, "templates/*.txt")
	if err != nil {
		panic(err)
	}
	all := map[string]templatePair{}
	for _, page := range pages {
		kind := strings.TrimSuffix(path.Base(page), ".txt")
		if kind == "layout" {
			continue
		}
		all[kind] = templatePair{
			text: text.Must(text.ParseFS(templates, "templates/layout.txt", page)),
			html: html.Must(html.ParseFS(templates, "templates/layout.html", "templates/"+kind+".html")),
		}
	}
	return all
}

func (f templatePair) write(v view) (plain, page string, err error) {
	var b strings.Builder
	if err := f.text.ExecuteTemplate(&b, "layout", v); err != nil {
		return "", "", err
	}
	plain = b.String()
	b.Reset()
	err = f.html.ExecuteTemplate(&b, "layout", v)
	return plain, b.String(), err
}

// span is a time as people say it: 30 minutes, 24 hours, 3 days.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	n, unit := int(d/time.Minute), "minute"
	switch {
	case d > day && d%day == 0:
		n, unit = int(d/day), "day"
	case d >= time.Hour && d%time.Hour == 0:
		n, unit = int(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprint(n, " ", unit)
}
