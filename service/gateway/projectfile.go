package gateway

import (
	"net/http"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
)

// fileView is a file of a project. A folder has nothing but its path: it is there as long as it holds a file.
type fileView struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	*fileFacts
}

type fileFacts struct {
	Bytes     int64     `json:"bytes"`
	ETag      string    `json:"etag"`
	UpdatedAt iso.Time  `json:"updatedAt"`
	UpdatedBy actorView `json:"updatedBy"`
}

// actorView is who did something.
type actorView struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Username string `json:"username"`
}

func viewFile(f project.File) fileView {
	v := fileView{Path: f.Path, Kind: f.Kind}
	if f.Kind == project.KindFile {
		v.fileFacts = &fileFacts{f.Bytes, f.ETag, iso.Time(f.UpdatedAt), viewActor(f.UpdatedBy)}
	}
	return v
}

func viewActor(a audit.Actor) actorView { return actorView(a) }

// listFiles lists files by their paths. Folded, what lies in a folder stands as that folder.
func (x *exchange) listFiles() error {
	a, err := x.asks()
	if err != nil {
		return err
	}
	values := x.r.URL.Query()
	folded := values.Get("folded")
	if folded != "" && folded != "true" && folded != "false" {
		return refusedField("folded")
	}
	found, err := x.g.Projects.Files(x.ctx(), x.owner(), x.params["slug"], project.FileQuery{
		Prefix: values.Get("prefix"), Folded: folded == "true", Query: a.query(),
	})
	if err != nil {
		return err
	}
	return listPage(x, found, viewFile)
}

// condition is what a change of a file depends on.
func (x *exchange) condition() project.Condition {
	return project.Condition{
		Match: strings.Join(x.r.Header.Values("If-Match"), ", "), NoneMatch: strings.Join(x.r.Header.Values("If-None-Match"), ", "),
	}
}

// putFile makes or replaces a file by the body as it is, whatever its type and however long it takes, as long as it comes.
func (x *exchange) putFile() error {
	if len(x.r.Header.Values("Content-Encoding")) > 0 {
		return fault.New(unsupportedContent, "A file is kept as it is sent.", "Send it without Content-Encoding.")
	}
	if len(x.r.Header.Values("Content-Range")) > 0 {
		return fault.New(invalidHeader, "A file is sent as a whole.", "Send it without Content-Range.")
	}
	release, err := x.transfer()
	if err != nil {
		return err
	}
	defer release()
	f, created, err := x.g.Projects.Write(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], x.params["path"], project.Upload{
		Body: x.upload(), Size: x.r.ContentLength, Condition: x.condition(),
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		x.out.Header().Set("Location", x.r.URL.EscapedPath())
	}
	return x.writeFile(status, f)
}

// writeFile answers with what is known of a file, and the etag of its content.
func (x *exchange) writeFile(status int, f project.File) error {
	x.out.Header().Set("ETag", f.ETag)
	return x.json(status, viewFile(f))
}

func (x *exchange) deleteFile() error {
	if err := x.g.Projects.Remove(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], x.params["path"], x.condition()); err != nil {
		return err
	}
	return x.none()
}

// moveFile gives a file another path. The headers are about the file that moves.
func (x *exchange) moveFile() error {
	var body struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	f, err := x.g.Projects.Move(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], body.From, body.To, x.condition())
	if err != nil {
		return err
	}
	return x.writeFile(http.StatusOK, f)
}
