package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"
)

//go:embed assets
var files embed.FS

// assets are the files that pages refer to, by the address that holds a hash of what is in them: a changed file is
// another address, so each may be cached for ever.
type assets struct {
	style, token, aid, icon string
	byPath                  map[string]asset
}

type asset struct {
	body        []byte
	contentType string
}

func newAssets() assets {
	a := assets{byPath: map[string]asset{}}
	a.style = a.add("style.css", "text/css; charset=utf-8")
	a.token = a.add("token.js", "text/javascript; charset=utf-8")
	a.aid = a.add("aid.js", "text/javascript; charset=utf-8")
	a.icon = a.add("icon.svg", "image/svg+xml")
	return a
}

// add gives a file its address, /assets/style-1f2e3d4c5b6a.css.
func (a assets) add(name, contentType string) string {
	body, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic("page: asset " + name + " is not embedded")
	}
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	address := "/assets/" + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
	a.byPath[address] = asset{body: body, contentType: contentType}
	return address
}

// Asset finds a file that a page refers to. What stands at a path never changes, so the answer may be kept for ever.
func (p *Pages) Asset(path string) (body []byte, contentType string, ok bool) {
	found, ok := p.assets.byPath[path]
	return found.body, found.contentType, ok
}
