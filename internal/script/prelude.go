package script

import (
	"embed"
	"io/fs"
	"strings"

	"modernc.org/quickjs"
)

// Code is a script as bytecode. It belongs to this build of the engine, and must never come from outside of the process: nothing checks it.
type Code []byte

//go:embed prelude/*.js
var preludes embed.FS

// PreludeLine is the line at which the prelude begins: no project is that long, so the prelude's frames in a stack are known by it.
const PreludeLine = 200_000

// CompilePrelude makes what every engine begins with: the web's interfaces, and further sources of the caller's. All share one scope,
// whose words the file 05-host.js explains; a further source puts functions into `entrances`, which Config.Entrances names, and
// into `shared` what the main script finds in `__svc`.
func CompilePrelude(further ...string) (Code, error) {
	names, err := fs.Glob(preludes, "prelude/*.js")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(strings.Repeat("\n", PreludeLine-1))
	b.WriteString("(() => {\"use strict\";\n")
	for _, name := range names {
		data, err := preludes.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	for _, source := range further {
		b.WriteString(source)
		b.WriteByte('\n')
	}
	b.WriteString("return entrances;\n})();\n")
	return compile(b.String(), true)
}

// CompileMain makes the script that an engine runs at its start, once. It is the body of an async function, so that a top-level await lets
// the loop go on, and finds in `__svc` what further preludes share. Its lines are those of the code.
func CompileMain(code string) (Code, error) {
	return compile("(async (__svc) => {\"use strict\"; "+code+"\n})", false)
}

// compile makes bytecode. The prelude's leaves the text of its functions out, which would be two thirds of it.
func compile(source string, small bool) (Code, error) {
	js, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	defer js.Close()
	if small {
		b, err := bareOf(js)
		if err != nil {
			return nil, err
		}
		b.withoutSource()
	}
	code, err := js.Compile(source, quickjs.EvalGlobal)
	if err != nil {
		return nil, (&Engine{}).fromEngine(err)
	}
	return code, nil
}
