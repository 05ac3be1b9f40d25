// Package build says which binary this is.
package build

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Info is what the build recorded of itself.
type Info struct {
	Version  string `json:"version"`            // of the module; "(devel)" outside a release
	Revision string `json:"revision,omitempty"` // of the source
	Time     string `json:"time,omitempty"`     // of the revision
	Modified bool   `json:"modified,omitempty"` // the source differed from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// This reads the build info of the running binary.
func This() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: "(devel)"}
	}
	return Of(info)
}

// Of reads the build info of any binary.
func Of(info *debug.BuildInfo) Info {
	b := Info{Version: cmp.Or(info.Main.Version, "(devel)"), Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "GOOS":
			b.OS = s.Value
		case "GOARCH":
			b.Arch = s.Value
		}
	}
	return b
}

// String is a build as one line, without what it did not record.
func (b Info) String() string {
	parts := []string{"svc", b.Version}
	if b.Revision != "" {
		revision := "revision " + b.Revision
		if b.Modified {
			revision += " (modified)"
		}
		parts = append(parts, revision)
	}
	return strings.Join(append(parts, b.Go, b.OS+"/"+b.Arch), " ")
}
