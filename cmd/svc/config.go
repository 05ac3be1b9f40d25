package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
)

const (
	configEnv  = "SVC_CONFIG"
	configFlag = "config"
	configFile = "svc.toml" // in the data folder
)

// addSettings adds the flag of every setting named, or of all.
func addSettings(cmd *cobra.Command, named ...string) {
	flags := cmd.Flags()
	flags.String(configFlag, "", "configuration file (default <data>/"+configFile+" if there)")
	for _, s := range new(config.Config).Settings() {
		if s.Flag != "" && (len(named) == 0 || slices.Contains(named, s.Flag)) {
			flags.String(s.Flag, "", fmt.Sprintf("%s (default %s)", s.About, shownDefault(s)))
		}
	}
}

func shownDefault(s config.Setting) string { return cmp.Or(s.Default, s.Else) }

// settingsTable is the configuration table for --help, in two columns: the key in svc.toml, and what else is to be said.
func settingsTable() string {
	all := new(config.Config).Settings()
	longest := 0
	for _, s := range all {
		longest = max(longest, len(s.Key))
	}
	table := settingRow(longest, "KEY", "ENVIRONMENT, FLAG", "what it is (default)")
	table += settingRow(longest, "–", configEnv+", --"+configFlag, "configuration file, TOML (default <data>/"+configFile+" if there)")
	for _, s := range all {
		names := s.Env
		if s.Flag != "" {
			names += ", --" + s.Flag
		}
		table += settingRow(longest, s.Key, names, fmt.Sprintf("%s (default %s)", s.About, shownDefault(s)))
	}
	return table
}

// settingRow is a setting in lines of its own. The widest key decides where the second column begins.
func settingRow(longest int, key, names, about string) string {
	const beside = 2
	return fmt.Sprintf("%*s%-*s%*s%s\n%s\n", beside, "", longest, key, beside, "", names, command.Hang(beside+longest+beside, about))
}

// secretFiles are the variables that name a file, a line each.
func secretFiles() string {
	var b strings.Builder
	for _, s := range new(config.Config).Settings() {
		if name := s.FileEnv(); name != "" {
			b.WriteString("  " + name + "\n")
		}
	}
	return b.String()
}

// readConfig reads the configuration: a flag goes before the environment, that before the file, and that before the
// default.
func readConfig(cmd *cobra.Command, env func(string) string) (config.Config, error) {
	var c config.Config
	if err := readFlags(&c, cmd); err != nil {
		return c, command.Usage(err)
	}
	if err := readEnv(&c, env); err != nil {
		return c, command.Usage(err)
	}
	if err := readFile(&c, cmd, env); err != nil {
		return c, command.Usage(err)
	}
	return c, nil
}

func readFlags(c *config.Config, cmd *cobra.Command) error {
	for _, s := range c.Settings() {
		if s.Flag == "" || !cmd.Flags().Changed(s.Flag) {
			continue
		}
		text, err := cmd.Flags().GetString(s.Flag)
		if err != nil {
			return err
		}
		if err := s.Set(text); err != nil {
			return fmt.Errorf("flag --%s: %w", s.Flag, err)
		}
	}
	return nil
}

// readEnv takes an empty variable for one that is not set.
func readEnv(c *config.Config, env func(string) string) error {
	for _, s := range c.Settings() {
		name, text, err := variable(s, env)
		if err != nil {
			return err
		}
		if text == "" || s.Given() {
			continue
		}
		if err := s.Set(text); err != nil {
			return fmt.Errorf("environment %s: %w", name, err)
		}
	}
	return nil
}

// variable is what the environment says of a setting, itself or through the file that it names.
func variable(s config.Setting, env func(string) string) (name, text string, err error) {
	file := s.FileEnv()
	if file == "" || env(file) == "" {
		return s.Env, env(s.Env), nil
	}
	if env(s.Env) != "" {
		return "", "", fmt.Errorf("environment: both %s and %s are set", s.Env, file)
	}
	b, err := os.ReadFile(env(file))
	if err != nil {
		return "", "", fmt.Errorf("environment %s: %w", file, err)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if text == "" {
		return "", "", fmt.Errorf("environment %s: %s is empty", file, env(file))
	}
	return file, text, nil
}

// readFile reads svc.toml. Every key of it must be known, also where a flag or the environment goes before it.
func readFile(c *config.Config, cmd *cobra.Command, env func(string) string) error {
	path, named := configPath(c, cmd, env)
	var tree map[string]any
	_, err := toml.DecodeFile(path, &tree)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) && !named {
		return fmt.Errorf("data folder %s: this user may not read it: run svc as the user whose it is, or choose another with --data", c.Folder())
	}
	if errors.Is(err, syscall.ENOTDIR) && !named {
		return fmt.Errorf("data folder %s: it is no folder: choose another with --data", c.Folder())
	}
	if err != nil {
		return fmt.Errorf("configuration file: %s: %w", path, discreet(err))
	}
	values := map[string]string{}
	flatten(values, "", tree)
	for _, s := range c.Settings() {
		text, found := values[s.Key]
		delete(values, s.Key)
		if !found || s.Given() {
			continue
		}
		if err := s.Set(text); err != nil {
			return fmt.Errorf("configuration file: %s: %w", path, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		return fmt.Errorf("configuration file: %s: key %q is not known%s", path, key, command.Meant(key, keys()))
	}
	return nil
}

func keys() (all []string) {
	for _, s := range new(config.Config).Settings() {
		all = append(all, s.Key)
	}
	return all
}

// discreet says where a file is wrong without what the parser quotes of it, which may be a secret.
func discreet(err error) error {
	if wrong, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Errorf("line %d is not TOML: a text stands in quotes, and a key stands once", wrong.Position.Line)
	}
	return err
}

// configPath is where the file lies, and whether somebody said so.
func configPath(c *config.Config, cmd *cobra.Command, env func(string) string) (path string, named bool) {
	if path, err := cmd.Flags().GetString(configFlag); err == nil && path != "" {
		return path, true
	}
	if path := env(configEnv); path != "" {
		return path, true
	}
	return filepath.Join(c.Folder(), configFile), false
}

// flatten names every value of the file by its dotted key.
func flatten(values map[string]string, prefix string, tree map[string]any) {
	for key, v := range tree {
		if table, ok := v.(map[string]any); ok && len(table) > 0 {
			flatten(values, prefix+key+".", table)
			continue
		}
		values[prefix+key] = flat(v)
	}
}

// flat is a value as a variable would hold it: a list has commas between its items.
func flat(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = fmt.Sprint(item)
	}
	return strings.Join(items, ",")
}

// configOf reads the configuration of the command that runs.
func configOf(cmd *cobra.Command) (config.Config, error) { return readConfig(cmd, os.Getenv) }
