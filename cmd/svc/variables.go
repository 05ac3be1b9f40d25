package main

import (
	"slices"
	"strings"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
)

// ofTests begin the variables of tests, which stand in a developer's environment.
var ofTests = []string{"SVC_TEST_", "SVC_SOAK", "SVC_KILLS", "SVC_SHOTS"}

// unknownVariables are those that look like settings and are none. They are told and not refused: whoever runs containers
// gives them variables that nobody asked for, such as SVC_SERVICE_HOST.
func unknownVariables(environ []string) (told []string) {
	known := append(cli.Variables(), configEnv)
	for _, s := range new(config.Config).Settings() {
		known = append(known, s.Env, s.FileEnv())
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		ours := strings.HasPrefix(name, "SVC_") && !slices.Contains(known, name)
		if ours && !slices.ContainsFunc(ofTests, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			told = append(told, name+" is not known, and is not used"+command.Meant(name, known))
		}
	}
	slices.Sort(told)
	return told
}
