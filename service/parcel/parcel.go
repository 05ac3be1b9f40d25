// Package parcel is one workspace on its way from one service to another: its conversations and runs with their attachments, its
// agents with every version, its projects with their files. People, keys, secrets and connections stay where they are.
//
// It is packed into an archive like that of a backup, and unpacked into a workspace that nobody sees before all of it is there.
package parcel

import (
	"fmt"
	"time"

	"svc.dev/svc/service/scope"
)

// Format is the newest form that is unpacked, and the one that is packed.
const Format = 1

// Kind stands in the head of an archive where a backup names its database.
const Kind = "workspace"

// What lies in a parcel, in the order in which it is packed.
const (
	aboutFile     = "workspace.json"
	agentsFile    = "agents.jsonl"
	projectsFile  = "projects.jsonl"
	filesFolder   = "files/"
	streamsFolder = "streams/"
	blobsFolder   = "attachments/"
)

// Address is a workspace by its owner's username and its business.
type Address struct {
	Username string `json:"username"`
	Business string `json:"business"`
}

// ParseAddress reads what String writes.
func ParseAddress(text string) (Address, error) {
	s, err := scope.Parse("users/" + text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is no workspace: name it as USER/BUSINESS, such as ada/shop", text)
	}
	return Address{s.Username, s.Business}, nil
}

func (a Address) String() string { return a.Username + "/" + a.Business }

func (a Address) scope() string { return scope.Of(a.Username, a.Business).String() }

// Wish is what an operator asks for.
type Wish struct {
	Address
	// Unfinished packs work too that is not finished. It goes on here and there.
	Unfinished bool `json:"unfinished"`
}

// About is what a parcel says of itself. It names the workspace as its people do, and nobody else.
type About struct {
	Format   int       `json:"format"`
	At       time.Time `json:"at"`
	Business string    `json:"business"`
	Name     string    `json:"name"`
}

// parcelled is a project as it travels.
type parcelled struct {
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Bytes       int64  `json:"bytes"` // of its files, when it was packed
}

// Unpacked is what came of it.
type Unpacked struct {
	Workspace string `json:"workspace"` // its address
	ID        string `json:"id"`
	Agents    int64  `json:"agents"`
	Projects  int64  `json:"projects"`
	Files     int64  `json:"files"`
	// Streams are conversations and runs.
	Streams     int64 `json:"streams"`
	Attachments int64 `json:"attachments"`
	// Missing are attachments that are not there, for the parcel lacks their content.
	Missing int64 `json:"missing"`
}
