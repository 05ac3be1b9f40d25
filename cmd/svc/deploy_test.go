package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"svc.dev/svc/service/config"
)

var deployed = filepath.Join("..", "..", "deploy")

// TestDeployedSettingsAreThere looks up every variable that a file of deploy/ sets.
func TestDeployedSettingsAreThere(t *testing.T) {
	known := []string{"SVC_DATA_DIR"}
	for _, s := range new(config.Config).Settings() {
		known = append(known, s.Env, s.FileEnv())
	}
	named := 0
	err := filepath.WalkDir(deployed, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		file, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`\bSVC_[A-Z_]+\b`).FindAllString(string(file), -1) {
			named++
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which is no setting", path, name)
			}
		}
		return err
	})
	if err != nil || named == 0 {
		t.Fatalf("%d settings: %v", named, err)
	}
}

// composed is what of a compose file is looked at.
type composed struct {
	Services map[string]struct {
		Command     []string
		Environment map[string]string
		Secrets     []string
		Volumes     []string
		Networks    any
		ReadOnly    bool `yaml:"read_only"`
	}
	Secrets  map[string]struct{ File string }
	Volumes  map[string]any
	Networks map[string]struct{ Internal bool }
}

// TestComposedPartsFitTogether reads the compose file: what its services name is declared, and what they are told is enough to start.
func TestComposedPartsFitTogether(t *testing.T) {
	var c composed
	if err := yaml.Unmarshal([]byte(text(t, deployed, "compose/compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	for name, s := range c.Services {
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s wants the secret %s, which is not declared", name, secret)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, declared := c.Volumes[source]; !declared && !strings.HasPrefix(source, ".") {
				t.Errorf("%s mounts %s, which is not declared", name, source)
			}
		}
		for variable, value := range s.Environment {
			if secret, found := strings.CutPrefix(value, "/run/secrets/"); found && !slices.Contains(s.Secrets, secret) {
				t.Errorf("%s reads %s from %s, which it is not given", name, variable, secret)
			}
		}
	}
	if !c.Networks["back"].Internal {
		t.Error("the private network can be reached")
	}
	for part, needs := range map[string][]string{
		"gateway": {"SVC_RUNTIME_TOKEN_FILE", "SVC_RUNTIME_ADMIN_TOKEN_FILE", "SVC_ASSERTION_KEY_FILE", "SVC_RUNTIME_URL", "SVC_TRUSTED_PROXIES"},
		"runtime": {"SVC_RUNTIME_TOKEN_FILE", "SVC_RUNTIME_ADMIN_TOKEN_FILE", "SVC_ASSERTION_PUBLIC", "SVC_RUNTIME_LISTEN"},
	} {
		s := c.Services[part]
		if len(s.Command) != 1 || s.Command[0] != part || !s.ReadOnly {
			t.Errorf("%s: %+v", part, s)
		}
		for _, variable := range needs {
			if s.Environment[variable] == "" {
				t.Errorf("%s lacks %s", part, variable)
			}
		}
	}
}

func TestSecretsOfComposeAreMadeOnce(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	folder := t.TempDir()
	script := filepath.Join(folder, "secrets.sh")
	if err := os.WriteFile(script, []byte(text(t, deployed, "compose/secrets.sh")), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	without := exec.Command("bash", script, "svc.example.com")
	without.Env = append(os.Environ(), "SVC="+filepath.Join(folder, "svc"))
	if out, err := without.CombinedOutput(); err == nil || !strings.Contains(string(out), "name the binary") {
		t.Errorf("without a binary: %v: %s", err, out)
	}
	if out, err := exec.Command("bash", script, "svc.example.com").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"runtime_token", "runtime_admin_token", "database_password"} {
		if secret := text(t, folder, "secrets/"+name); len(secret) != 64 {
			t.Errorf("%s has %d bytes", name, len(secret))
		}
	}
	env := text(t, folder, ".env")
	if !regexp.MustCompile(`^DOMAIN=svc\.example\.com\nASSERTION_PUBLIC=[\w-]{43}\n$`).MatchString(env) || len(text(t, folder, "secrets/assertion_key")) != 43 {
		t.Errorf("%s", env)
	}
	if out, err := exec.Command("bash", script, "svc.example.com").CombinedOutput(); err == nil {
		t.Errorf("secrets that are in use were replaced: %s", out)
	}
}

// exposure is what systemd says of a unit, from 0 to 10.
var exposure = regexp.MustCompile(`Overall exposure level for svc\.service: ([0-9.]+)`)

func TestUnitIsOneThatSystemdTakes(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	unit := filepath.Join(t.TempDir(), "svc.service")
	writeFile(t, unit, adapted(t, "svc.service", "/usr/local/bin/svc", "/bin/true"))
	if out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v: %s", err, out)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", unit).CombinedOutput()
	if err != nil {
		t.Skipf("this systemd does not judge files: %v: %s", err, out)
	}
	found := exposure.FindSubmatch(out)
	if found == nil {
		t.Fatalf("%s", out)
	}
	if score, err := strconv.ParseFloat(string(found[1]), 64); err != nil || score > 2 {
		t.Errorf("the unit's exposure is %s, and 2 is enough", found[1])
	}
}
