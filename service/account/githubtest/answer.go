package githubtest

import (
	"bytes"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// answer is what is sent back.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool // half of the body is sent, and the line is cut
}

func reply(status int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	return raw(status, body)
}

func raw(status int, body []byte) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body: body}
}

// refuse is an error of the REST API.
func refuse(status int, message string) answer {
	return reply(status, map[string]string{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	})
}

func moved(to string) answer {
	return answer{status: http.StatusFound, header: http.Header{"Location": {to}}}
}

// with adds a header.
func (a answer) with(name, value string) answer {
	a.header.Set(name, value)
	return a
}

func (a answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	if !a.cut {
		w.Write(a.body)
		return
	}
	w.Write(a.body[:len(a.body)/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

var layout = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1>
{{if .Asked}}<form method="post">
{{range $name, $values := .Asked}}<input type="hidden" name="{{$name}}" value="{{index $values 0}}">
{{end}}{{with .Choice}}{{if .Name}}<p><label>{{.Label}} <select name="{{.Name}}">{{range .Options}}<option>{{.}}</option>{{end}}</select></label></p>
{{end}}{{end}}<button name="decision" value="approve">Approve</button>
<button name="decision" value="cancel">Cancel</button>
</form>{{end}}
</body></html>
`))

// choice is what a person chooses on a page; without a name it is none.
type choice struct {
	Label, Name string
	Options     []string
}

// page says a sentence. It has a form where it repeats what was asked.
func page(status int, sentence string, asked url.Values, c choice) answer {
	var b bytes.Buffer
	if err := layout.Execute(&b, map[string]any{"Title": sentence, "Asked": asked, "Choice": c}); err != nil {
		panic("githubtest: " + err.Error())
	}
	return answer{status: status, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"no-store"}}, body: b.Bytes()}
}

// notice is a page without a form.
func notice(status int, sentence string) answer { return page(status, sentence, nil, choice{}) }

func noPage() answer {
	return notice(http.StatusNotFound, "This is not the web page you are looking for.")
}

// undecided reports whether a page is to be shown before anything is done.
func (c *call) undecided() bool { return c.asks && c.FormValue("decision") == "" }

// canceled reports whether the person pressed the other button.
func (c *call) canceled() bool { return c.FormValue("decision") == "cancel" }

// ask is a page with the buttons to decide by.
func (c *call) ask(title string, choice choice) answer {
	return page(http.StatusOK, title, c.Form, choice)
}

// home sends a browser to an address of the app, with more in its query and the state that it came with.
func (c *call) home(address string, more url.Values) answer {
	u, err := url.Parse(address)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	if state := c.FormValue("state"); state != "" {
		more.Set("state", state)
	}
	q := u.Query()
	maps.Copy(q, more)
	u.RawQuery = q.Encode()
	return moved(u.String())
}
