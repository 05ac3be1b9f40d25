package githubtest

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
)

var layout = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1>
{{if .Notice}}<p>{{.Notice}}</p>{{else}}<form method="post" action="{{.Action}}">
{{range $name, $value := .Hidden}}<input type="hidden" name="{{$name}}" value="{{$value}}">
{{end}}{{if .Name}}<p><label>App name <input name="name" value="{{.Name}}" maxlength="34"></label></p>
{{end}}{{range .Choices}}<p><label>{{.Label}} <select name="{{.Name}}">{{range .Options}}<option value="{{.Value}}">{{.Text}}</option>{{end}}</select></label></p>
{{end}}<button name="decision" value="approve">Approve</button>
<button name="decision" value="cancel">Cancel</button>
</form>{{end}}
</body></html>
`))

// pageContent is a sentence, or a form with an Approve button.
type pageContent struct {
	Title   string
	Notice  string
	Action  string
	Hidden  map[string]string
	Name    string
	Choices []choice
}

type choice struct {
	Label, Name string
	Options     []option
}

type option struct{ Value, Text string }

func page(status int, title string, c pageContent) answer {
	c.Title = title
	var b bytes.Buffer
	if err := layout.Execute(&b, c); err != nil {
		panic("githubtest: " + err.Error())
	}
	return answer{status, http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"no-store"}}, b.Bytes()}
}

func notice(sentence string) pageContent { return pageContent{Notice: sentence} }

func noPage() answer {
	return page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for."))
}

// decision repeats what was asked, with who decides.
func (s *Server) decision(c *call, q url.Values) pageContent {
	hidden := map[string]string{}
	for name := range q {
		hidden[name] = q.Get(name)
	}
	return pageContent{Action: c.URL.Path, Hidden: hidden, Choices: []choice{s.people(c)}}
}

func (s *Server) chooseAccount(c *call) pageContent {
	user := s.person(c, "")
	targets := choice{Label: "Account", Name: "target"}
	targets.Options = []option{{strconv.FormatInt(user.ID, 10), user.Login}}
	for _, o := range s.world.organizations {
		if s.world.mayActFor(user.ID, o.ID) {
			targets.Options = append(targets.Options, option{strconv.FormatInt(o.ID, 10), o.Login})
		}
	}
	return pageContent{Action: c.URL.String(), Hidden: map[string]string{"as": user.Login}, Choices: []choice{targets}}
}

// people are all of them, first who the browser is.
func (s *Server) people(c *call) choice {
	me := s.person(c, "")
	all := choice{Label: "Signed in as", Name: "as", Options: []option{{me.Login, me.Login}}}
	for _, u := range s.world.users {
		if u != me {
			all.Options = append(all.Options, option{u.Login, u.Login})
		}
	}
	return all
}
