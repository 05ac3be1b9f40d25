package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// MaxCode is the longest script that a project may become, in bytes.
const MaxCode = 16 << 20

// Bundle is a project as one script.
type Bundle struct {
	Code string
	Map  *Map
	// Sources are what it was made of, without packages: files, and the folders that imports lead to, absolute. One that was decoded has none.
	Sources []string
}

// Equal reports whether another is the same script, and leads to the same places.
func (b *Bundle) Equal(other *Bundle) bool {
	return b.Code == other.Code && bytes.Equal(b.Map.raw, other.Map.raw)
}

// Hash names the script: the same sources make the same one anywhere.
func (b *Bundle) Hash() string {
	sum := sha256.Sum256([]byte(b.Code))
	return hex.EncodeToString(sum[:])
}

// Error is why a project could not be bundled: what is wrong with its sources, each with the lines around it.
type Error struct {
	Problems []string
	Sources  []string // as a Bundle has them: one of them is wrong, or is not there
}

func (e *Error) Error() string { return strings.Join(e.Problems, "\n\n") }

// Make bundles the project. What is wrong with its sources is an *Error.
func (p *Project) Make() (*Bundle, error) {
	result := api.Build(api.BuildOptions{
		Stdin:         &api.StdinOptions{Contents: p.entry(), ResolveDir: p.Root, Sourcefile: "svc:entry", Loader: api.LoaderJS},
		AbsWorkingDir: p.Root, Outfile: "project.js", Bundle: true, Write: false, LogLevel: api.LogLevelSilent,
		Format: api.FormatESModule, Target: api.ESNext, Platform: api.PlatformNeutral,
		MainFields: []string{"module", "main"}, Conditions: []string{"svc", "workerd", "worker", "browser", "import", "module"},
		// The engine leaves a for await too early, and knows neither using nor decorators.
		Supported: map[string]bool{"for-await": false, "using": false, "decorators": false},
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		Define:      map[string]string{"process.env.NODE_ENV": `"production"`, "import.meta.url": `"svc://project/"`},
		TreeShaking: api.TreeShakingTrue, LegalComments: api.LegalCommentsNone, KeepNames: true,
		Plugins: []api.Plugin{{Name: "svc", Setup: p.plug}},
	})
	if len(result.Errors) > 0 {
		return nil, p.failed(problems(result.Errors)...)
	}
	return p.made(result.OutputFiles)
}

func (p *Project) failed(problems ...string) *Error { return &Error{problems, p.sources()} }

// mostProblems is how many are told at once.
const mostProblems = 10

func problems(messages []api.Message) (all []string) {
	for i := range messages {
		messages[i].PluginName = "" // it is ours, and says nothing to authors
		if strings.HasPrefix(messages[i].Text, "Could not resolve") {
			messages[i].Notes = []api.Note{{Text: "Where it is a package: is it in package.json, and was npm install run in the project's folder?"}}
		}
	}
	left := len(messages) - mostProblems
	texts := api.FormatMessages(messages[:min(len(messages), mostProblems)], api.FormatMessagesOptions{Kind: api.ErrorMessage, TerminalWidth: 100})
	for _, text := range texts {
		all = append(all, strings.TrimSpace(text))
	}
	if left > 0 {
		all = append(all, fmt.Sprintf("and %d more", left))
	}
	return all
}

// naming is how a bundle keeps the names of functions that it must call otherwise: at each time that one is made, which may be dozens of
// times for a request. The engine does the same, and needs no object that says so. In the same line: the source map counts them.
const (
	naming         = `var __name = (target, value) => __defProp(target, "name", { value, configurable: true });`
	namingByEngine = `var __name = __svc.named;`
)

func (p *Project) made(files []api.OutputFile) (*Bundle, error) {
	b := &Bundle{Sources: p.sources()}
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".map") {
			b.Code = strings.Replace(string(f.Contents), naming, namingByEngine, 1)
			continue
		}
		var err error
		if b.Map, err = ParseMap(f.Contents); err != nil {
			return nil, err
		}
	}
	if len(b.Code) > MaxCode {
		return nil, p.failed(fmt.Sprintf("the project's script has %d bytes, and %d at most may be: see which packages it imports", len(b.Code), MaxCode))
	}
	return b, nil
}

// plug tells esbuild of the modules that are ours, or that need a word.
func (p *Project) plug(build api.PluginBuild) {
	p.plugSources(build)
	p.plugRuntime(build)
	p.plugNode(build)
	plugMarkdown(build)
}

// plugSources hears what is looked at, whatever comes of it. A file that is not there may come, into the folder where it was looked for.
func (p *Project) plugSources(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: `^\.\.?(/|$)`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if at := filepath.Join(a.ResolveDir, filepath.FromSlash(a.Path)); !p.inPackage(at) {
			p.see(at, filepath.Dir(at))
		}
		return api.OnResolveResult{}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		if !p.inPackage(a.Path) {
			p.see(a.Path)
		}
		return api.OnLoadResult{}, nil
	})
}

func (p *Project) see(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		p.seen[name] = true
	}
}

// sources are what builds have looked at.
func (p *Project) sources() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.seen))
}

// The namespaces of modules that are no files.
const (
	ofRuntime = "svc"
	ofNode    = "node"
)

// plugRuntime provides our own package, under its other names too.
func (p *Project) plugRuntime(build api.PluginBuild) {
	names := map[string]string{runtimePackage: runtimePackage}
	for from, to := range p.Settings.Alias {
		names[from] = to
	}
	for from, to := range names {
		build.OnResolve(api.OnResolveOptions{Filter: "^" + regexp.QuoteMeta(from) + "(/|$)"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			name := to + strings.TrimPrefix(a.Path, from)
			if _, ok := p.Settings.provided(name); !ok {
				return api.OnResolveResult{}, fmt.Errorf("%s does not exist; there are %s and %[2]s/routing", name, runtimePackage)
			}
			return api.OnResolveResult{Path: name, Namespace: ofRuntime}, nil
		})
	}
	build.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: ofRuntime}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		source, _ := p.Settings.provided(a.Path)
		return api.OnLoadResult{Contents: &source, Loader: api.LoaderJS, ResolveDir: p.Root}, nil
	})
	build.OnResolve(api.OnResolveOptions{Filter: `^hono$`, Namespace: ofRuntime}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if found, ok := elsewhere(build, a); ok {
			return found, nil
		}
		return api.OnResolveResult{}, fmt.Errorf("%s/routing needs the package hono: npm install hono", runtimePackage)
	})
}

// unplugged marks a question of our own, which our plugin leaves to esbuild.
type unplugged struct{}

// elsewhere resolves a path as if the plugin were not there.
func elsewhere(build api.PluginBuild, a api.OnResolveArgs) (api.OnResolveResult, bool) {
	if _, ours := a.PluginData.(unplugged); ours {
		return api.OnResolveResult{}, true
	}
	found := build.Resolve(a.Path, api.ResolveOptions{
		Importer: a.Importer, Namespace: "file", ResolveDir: a.ResolveDir, Kind: a.Kind, PluginData: unplugged{}, With: a.With,
	})
	if len(found.Errors) > 0 || found.External {
		return api.OnResolveResult{}, false
	}
	return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, Suffix: found.Suffix}, true
}

// plugNode refuses modules of Node in the project's own files, and lets packages import what they may never use.
func (p *Project) plugNode(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: `^(node:)?[a-z0-9_]+(/[a-z0-9_/]+)?$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		name, prefixed := strings.CutPrefix(a.Path, "node:")
		base, _, _ := strings.Cut(name, "/")
		use, known := instead[base]
		if !known && !prefixed {
			return api.OnResolveResult{}, nil
		}
		// A package of that name that is installed is meant.
		if found, ok := elsewhere(build, a); ok && !prefixed {
			return found, nil
		}
		if p.inPackage(a.Importer) {
			return api.OnResolveResult{Path: name, Namespace: ofNode}, nil
		}
		text := fmt.Sprintf("%s is a module of Node, which svc projects do not run on", a.Path)
		if use != "" {
			text += ": " + use
		}
		return api.OnResolveResult{Errors: []api.Message{{Text: text}}}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: ofNode}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		source := absent(a.Path)
		return api.OnLoadResult{Contents: &source, Loader: api.LoaderJS}, nil
	})
}

// inPackage reports whether a file belongs to an installed package.
func (p *Project) inPackage(file string) bool {
	if below, err := filepath.Rel(p.Root, file); err == nil {
		file = below
	}
	return strings.Contains("/"+filepath.ToSlash(file), "/node_modules/")
}

// plugMarkdown gives a Markdown file to the import that asks for its text.
func plugMarkdown(build api.PluginBuild) {
	build.OnLoad(api.OnLoadOptions{Filter: `\.md$`}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		switch a.With["type"] {
		case "markdown":
			return readText(a.Path)
		case "skill":
			return api.OnLoadResult{}, fmt.Errorf("skills are not available in svc projects yet")
		}
		return api.OnLoadResult{}, fmt.Errorf(`a Markdown file is imported with { type: "markdown" }`)
	})
}

// readText is a file whose module's default export is its text.
func readText(file string) (api.OnLoadResult, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	text := string(data)
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderText}, nil
}
