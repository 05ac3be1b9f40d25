package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
)

// read reads a configuration as svc serve would.
func read(t *testing.T, args []string, env map[string]string) (service.Config, error) {
	t.Helper()
	cmd := &cobra.Command{}
	addSettings(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return readConfig(cmd, func(name string) string { return env[name] })
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagGoesBeforeEnvironmentBeforeFile(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), "listen = \"file\"\nops_listen = \"file\"\nworkers = 3\n[sqlite]\nsynchronous = \"NORMAL\"\n")
	c, err := read(t,
		[]string{"--listen", "flag", "--config", file},
		map[string]string{"SVC_LISTEN": "environment", "SVC_OPS_LISTEN": "environment", "SVC_STOP_TIMEOUT": ""})
	if err != nil {
		t.Fatal(err)
	}
	want := service.Config{Listen: "flag", OpsListen: "environment", Workers: 3, Synchronous: "NORMAL"}
	if c != want {
		t.Errorf("%+v", c)
	}
}

func TestEverySettingIsReadFromEverySource(t *testing.T) {
	text := map[string]string{
		"data_dir": "d", "database": "sqlite:x", "sqlite.synchronous": "NORMAL", "listen": "a:1", "ops_listen": "a:2",
		"workers": "5", "stop_timeout": "2m", "log.level": "warn", "log.format": "text",
	}
	for i, s := range new(service.Config).Settings() {
		value, ok := text[s.Key]
		if !ok {
			t.Fatalf("the test has no value for %s", s.Key)
		}
		file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), s.Key+" = \""+value+"\"\n")
		sources := map[string]func() (service.Config, error){
			"environment": func() (service.Config, error) { return read(t, nil, map[string]string{s.Env: value}) },
			"file":        func() (service.Config, error) { return read(t, []string{"--config", file}, nil) },
			"SVC_CONFIG":  func() (service.Config, error) { return read(t, nil, map[string]string{"SVC_CONFIG": file}) },
		}
		if s.Flag != "" {
			sources["flag"] = func() (service.Config, error) { return read(t, []string{"--" + s.Flag, value}, nil) }
		}
		for source, read := range sources {
			c, err := read()
			if err != nil || !c.Settings()[i].Given() {
				t.Errorf("%s from %s: %v", s.Key, source, err)
			}
		}
	}
}

func TestFileLiesInTheDataFolder(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "svc.toml"), "workers = 3\n")
	c, err := read(t, nil, map[string]string{"SVC_DATA_DIR": folder})
	if err != nil || c.Workers != 3 {
		t.Errorf("%+v %v", c, err)
	}
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "svc.toml")
	for _, test := range []struct {
		text string
		args []string
		env  map[string]string
		want string
	}{
		{text: "lissen = \"x\"\n", want: file + `: key "lissen" is not known`},
		{text: "[log]\nlevle = \"x\"\n", want: file + `: key "log.levle" is not known`},
		{text: "[nothing]\n", want: file + `: key "nothing" is not known`},
		{text: "listen = \"a\"\nlissen = \"x\"\n", args: []string{"--listen", "b"}, want: `key "lissen" is not known`},
		{text: "workers = \n", want: file + ": "},
		{text: "workers = \"many\"\n", want: file + `: workers: "many" is not a whole number`},
		{text: "database = \"svc.db\"\n", want: file + ": database: the address has no known scheme: write sqlite:PATH"},
		{env: map[string]string{"SVC_WORKERS": "-1"}, want: `environment SVC_WORKERS: workers: "-1"`},
		{args: []string{"--log-level", "loud"}, want: `flag --log-level: log.level: "loud"`},
		{args: []string{"--config", filepath.Join(folder, "missing.toml")}, want: "missing.toml"},
	} {
		writeFile(t, file, test.text)
		args := append([]string{"--data", folder}, test.args...)
		if _, err := read(t, args, test.env); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q %v %v: %v", test.text, test.args, test.env, err)
		}
	}
}
