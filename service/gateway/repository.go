package gateway

import (
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/project"
)

// repositoryView is what a project follows.
type repositoryView struct {
	Provider       string `json:"provider"`
	Owner          string `json:"owner"`
	Name           string `json:"name"`
	Branch         string `json:"branch,omitzero"` // empty: the one that the repository itself names
	InstallationID int64  `json:"installationId"`
}

// checkoutView is how far a project has followed its repository.
type checkoutView struct {
	Commit    string   `json:"commit"`
	Conflicts int      `json:"conflicts"`
	At        iso.Time `json:"at"`
}

// Bounds of what is fetched at one time, of one workspace and in this process: each is a program of its own.
const (
	fetchesOfOne  = 4
	fetchesAtOnce = 16
)

// fetch counts somebody who is about to ask a provider.
func (x *exchange) fetch(scope string) (release func(), err error) {
	own, err := x.g.fetches.Take(scope)
	if err == nil {
		var all func()
		if all, err = x.g.fetching.Take(""); err == nil {
			return func() { all(); own() }, nil
		}
		own()
	}
	return nil, fault.New(account.Busy, "Too many repositories are being fetched at this moment.", "Try again shortly.").After(time.Second)
}

func (x *exchange) connectRepository() error {
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	var body repositoryView
	if err := x.decode(&body); err != nil {
		return err
	}
	release, err := x.fetch(x.address())
	if err != nil {
		return err
	}
	defer release()
	p, err := x.g.Projects.Connect(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], version, project.Repository(body))
	return x.writeProject(http.StatusOK, p, err)
}

func (x *exchange) disconnectRepository() error {
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	if _, err := x.g.Projects.Disconnect(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], version); err != nil {
		return err
	}
	return x.none()
}

// pulledView is what a pull did.
type pulledView struct {
	Commit        string     `json:"commit"`
	Written       int        `json:"written"`
	Deleted       int        `json:"deleted"`
	Conflicts     []string   `json:"conflicts"`
	ConflictCount int        `json:"conflictCount"`
	Skipped       []skipView `json:"skipped"`
	SkipCount     int        `json:"skipCount"`
}

// skipView is something of a repository that cannot be a file.
type skipView struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (x *exchange) pullRepository() error {
	release, err := x.fetch(x.address())
	if err != nil {
		return err
	}
	defer release()
	done, err := x.g.Projects.Pull(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"])
	if err != nil {
		return err
	}
	view := pulledView{
		Commit: done.Commit, Written: done.Written, Deleted: done.Deleted, Conflicts: append([]string{}, done.Conflicts...), ConflictCount: done.ConflictCount,
		Skipped: []skipView{}, SkipCount: done.SkipCount,
	}
	for _, s := range done.Skipped {
		view.Skipped = append(view.Skipped, skipView(s))
	}
	return x.json(http.StatusOK, view)
}
