// Package page is what a person sees of the product before, beside and without the web application: sign-in, sign-up,
// the account, provider set-up and refusals, as HTML from the server.
//
// The package is pure: a view goes in, a document comes out. It knows no request, no session and no database, so what a
// page shows is exactly what its view holds. No view has room for a password, so none can be sent back. Pages work
// without scripts; the three that exist save a person from pasting a token, from pressing a button, and from typing blindly.
package page

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"
)

//go:embed templates/*.html
var templates embed.FS

// Config is what all pages of a service share.
type Config struct {
	// Brand is the name of the product. Defaults to "svc".
	Brand string
	// Platform, Agents and Admin are the addresses of the three surfaces, as https://host without a path.
	Platform, Agents, Admin string
	// Development is true where mail links are printed to the log.
	Development bool
	// Now is the clock that "2 min ago" is counted from. Defaults to time.Now.
	Now func() time.Time
}

// Pages renders views. It is safe for concurrent use.
type Pages struct {
	config Config
	assets assets
	sheets map[string]*template.Template
}

// View is the data of one page. The types of this package that are views are all there are.
type View interface {
	sheet() sheet
}

// sheet is what is fixed about a page.
type sheet struct {
	name   string   // of the template file
	title  string   // before the brand
	shell  shell    // what surrounds the content
	fields []string // of its forms, in the order in which they stand
	here   string   // path of the entry in the navigation that is current
	token  bool     // a token stands in the fragment of the address
	aid    bool     // a password can be shown, or something copied
	admin  bool     // belongs to the Admin surface
}

// shell is what surrounds the content of a page.
type shell string

const (
	door  shell = "door"  // for whoever is not signed in: a form beside a picture
	slip  shell = "slip"  // one message or question, nothing beside it
	desk  shell = "desk"  // for whoever is signed in: navigation and sections
	plain shell = "plain" // no style at all, for a page whose policy forbids one
)

// New makes the pages of a service.
func New(c Config) *Pages {
	c.Brand = cmp.Or(c.Brand, "svc")
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Platform, c.Agents, c.Admin = origin(c.Platform), origin(c.Agents), origin(c.Admin)
	p := &Pages{config: c, assets: newAssets()}
	p.sheets = p.parse()
	return p
}

// parse makes one template for each file that is a page. They are embedded, so a mistake in one shows in every test.
func (p *Pages) parse() map[string]*template.Template {
	shared := template.New("layout.html").Funcs(p.funcs())
	template.Must(shared.ParseFS(templates, "templates/layout.html", "templates/shells.html", "templates/parts.html", "templates/icons.html"))
	sheets := map[string]*template.Template{}
	for _, v := range views {
		name := v.sheet().name
		copied := template.Must(shared.Clone())
		sheets[name] = template.Must(copied.ParseFS(templates, "templates/"+name+".html"))
	}
	return sheets
}

// views has one of each, so that every page is parsed when the first is made.
var views = []View{
	SignIn{}, SignUp{}, SignUpSent{}, Forgot{}, ForgotSent{}, Reset{}, Verify{}, Undo{}, Undelete{}, Link{}, Setup{},
	Reauth{}, Profile{}, Security{}, Connections{}, Sessions{}, Keys{}, KeyShown{}, Pair{}, Pairing{}, Danger{}, Deleting{}, Workspaces{}, NewWorkspace{}, Invitation{},
	Providers{}, Failure{}, Waiting{}, ManifestPost{},
}

// Render writes the page of a view. Nothing is written when it fails.
func (p *Pages) Render(w io.Writer, view View) error {
	if view == nil {
		return errors.New("render page: no view")
	}
	s := view.sheet()
	var b bytes.Buffer
	if err := p.sheets[s.name].Execute(&b, p.frame(view)); err != nil {
		return fmt.Errorf("render page %s: %w", s.name, err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write page %s: %w", s.name, err)
	}
	return nil
}

// frame is what a template sees.
type frame struct {
	Config
	Title       string
	Style, Icon string   // addresses
	Scripts     []string // addresses
	OnAdmin     bool
	Shell       shell
	Here        string
	Form        Form
	Person      *Person // nobody is signed in: nil
	View        View

	fields []string
}

func (p *Pages) frame(view View) frame {
	s := view.sheet()
	f := frame{
		Config: p.config, Title: s.title + " · " + p.config.Brand, Style: p.assets.style, Icon: p.assets.icon,
		OnAdmin: s.admin, Shell: s.shell, Here: s.here, View: view, fields: s.fields,
	}
	if s.admin {
		f.Title = s.title + " · Admin"
	}
	if s.token {
		f.Scripts = append(f.Scripts, p.assets.token)
	}
	if s.aid {
		f.Scripts = append(f.Scripts, p.assets.aid)
	}
	if v, ok := view.(interface{ form() Form }); ok {
		f.Form = v.form()
	}
	if v, ok := view.(interface{ person() *Person }); ok {
		f.Person = v.person()
	}
	return f
}

// origin is the scheme and host of an address, and the text itself when it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return strings.TrimRight(address, "/")
	}
	return u.Scheme + "://" + u.Host
}

// host is the name in an address, without a port.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
