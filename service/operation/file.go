package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/strictjson"
)

const (
	filesPath = projectPath + "/files"
	filePath  = filesPath + "/{path...}"
)

// files are those of a project. They are named by the etag of their content.
var files = everywhere("project",
	list(filesPath, readsProjects, listFiles).told().says("List the files of a project by their paths, byte by byte.", fault.ItemNotFound, fault.InvalidRequest, fault.InvalidPath, fault.Busy),
	get(filePath, readsProjects, getFile).told().
		says("Read a file, or a part of it. A browser keeps it and never shows or runs it.", fault.ItemNotFound, fault.InvalidPath, fault.VersionConflict, fault.RangeNotSatisfiable, fault.Busy),
	row("PUT", filePath, keeps, worksOnThem, putFile).told().apart().
		says("Make or replace a file by the body as it is. It is the old file or the new one, whatever happens.", fault.ItemNotFound, fault.InvalidPath, fault.NameTaken, fault.StorageQuotaExceeded, fault.Busy),
	drop(filePath, worksOnThem, deleteFile).told().apart().says("Delete a file.", fault.ItemNotFound, fault.InvalidPath, fault.Busy),
	list(projectPath+"/changes", readsProjects, listChanges).told().says("List by their paths the files of a project that are not as its last pull left them.", fault.ItemNotFound),
	verb(projectPath+"/move", worksOnThem, moveFile).told().says("Give a file another path, which nothing may have.", fault.ItemNotFound, fault.InvalidPath, fault.NameTaken, fault.Busy),
)

// file is a file of a project. A folder has its path alone, and is there as long as it holds a file.
type file struct {
	Path      string     `json:"path"`
	Kind      string     `json:"kind" enum:"file folder"`
	Bytes     *int64     `json:"bytes,omitempty"`
	ETag      string     `json:"etag,omitempty"` // as the header has it
	UpdatedAt iso.Moment `json:"updatedAt,omitzero"`
	UpdatedBy *author    `json:"updatedBy,omitempty"`
}

// author is who wrote a file.
type author struct {
	Kind     string `json:"kind" enum:"account key system operator anonymous channel"`
	ID       string `json:"id"`
	Username string `json:"username"`
	Agent    string `json:"agent,omitempty"` // that wrote in their name; absent: they did themselves
}

func fileOf(f project.File) file {
	if f.Kind != project.KindFile {
		return file{Path: f.Path, Kind: f.Kind}
	}
	return file{f.Path, f.Kind, &f.Bytes, f.ETag, iso.At(f.UpdatedAt), &author{f.UpdatedBy.Kind, f.UpdatedBy.ID, f.UpdatedBy.Username, f.Agent}}
}

type fileQuery struct {
	Slug   string `path:"slug"`
	Prefix string `query:"prefix"` // how every path begins
	// Folded: what lies in a folder stands as that folder.
	Folded  string `query:"folded" enum:"true false"`
	Stretch stretch
}

func listFiles(ctx context.Context, c Call, in fileQuery) (listing.Page[file], error) {
	if in.Folded != "" && in.Folded != "true" && in.Folded != "false" {
		return listing.Page[file]{}, strictjson.Refuse(strictjson.Field{Field: "folded", Type: strictjson.Invalid})
	}
	found, err := c.Projects.Files(ctx, c.owner(), in.Slug, project.FileQuery{Prefix: in.Prefix, Folded: in.Folded == "true", Query: listing.Query(in.Stretch)})
	return listing.Map(found, fileOf), err
}

// difference is a file that is not as the last pull left it. One that was deleted has a path alone.
type difference struct {
	Path      string     `json:"path"`
	How       string     `json:"how" enum:"added changed deleted"`
	Bytes     *int64     `json:"bytes,omitempty"`
	UpdatedAt iso.Moment `json:"updatedAt,omitzero"`
	UpdatedBy *author    `json:"updatedBy,omitempty"`
}

func differenceOf(d project.Difference) difference {
	if d.How == project.Deleted {
		return difference{Path: d.Path, How: d.How}
	}
	f := fileOf(d.File)
	return difference{f.Path, d.How, f.Bytes, f.UpdatedAt, f.UpdatedBy}
}

type changesQuery struct {
	Slug    string `path:"slug"`
	Stretch stretch
}

func listChanges(ctx context.Context, c Call, in changesQuery) (listing.Page[difference], error) {
	found, err := c.Projects.Differences(ctx, c.owner(), in.Slug, listing.Query(in.Stretch))
	return listing.Map(found, differenceOf), err
}

// fileName is a file, and which content of it is meant.
type fileName struct {
	Slug string `path:"slug"`
	Path string `path:"path"`
	project.Condition
}

// Download is the content of a file on its way to a client.
type Download struct {
	*project.Content
	release func()
}

// Close ends it.
func (d Download) Close() {
	d.Content.Close()
	d.release()
}

func getFile(ctx context.Context, c Call, in fileName) (Download, error) {
	release, err := c.Transfer()
	if err != nil {
		return Download{}, err
	}
	d := Download{release: release}
	defer func() {
		if d.Content == nil { // it is not handed on
			release()
		}
	}()
	d.Content, err = c.Projects.Open(ctx, c.owner(), in.Slug, in.Path)
	return d, err
}

type upload struct {
	Slug string `path:"slug"`
	Path string `path:"path"`
	project.Upload
}

// stored is a file as it was written.
type stored struct {
	file
	Created bool `json:"-"`
}

func putFile(ctx context.Context, c Call, in upload) (stored, error) {
	release, err := c.Transfer()
	if err != nil {
		return stored{}, err
	}
	defer release()
	f, created, err := c.Projects.Write(ctx, c.Actor(), c.owner(), in.Slug, in.Path, in.Upload)
	return stored{fileOf(f), created}, err
}

func deleteFile(ctx context.Context, c Call, in fileName) error {
	return c.Projects.Remove(ctx, c.Actor(), c.owner(), in.Slug, in.Path, in.Condition)
}

type move struct {
	Slug string `path:"slug"`
	project.Condition
	Body struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
}

// moveFile gives a file another path. The condition is about the file that moves.
func moveFile(ctx context.Context, c Call, in move) (file, error) {
	f, err := c.Projects.Move(ctx, c.Actor(), c.owner(), in.Slug, in.Body.From, in.Body.To, in.Condition)
	return fileOf(f), err
}
