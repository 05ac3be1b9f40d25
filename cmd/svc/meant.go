package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.dev/svc/service/config"
)

// meant is the end of a refusal of a name: the known one that it resembles, if there is one.
func meant(name string, known []string) string {
	best, least := "", max(2, len(name)/4)+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": is %s meant?", best)
}

// distance is how many letters must be changed, added or taken away to make a name of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// withMeantFlag adds to the refusal of a flag the one that it resembles.
func withMeantFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, meant("--"+unknown.GetSpecifiedName(), known))
}

// ofTests begin the variables of tests, which stand in a developer's environment.
var ofTests = []string{"SVC_TEST_", "SVC_SOAK", "SVC_KILLS", "SVC_SHOTS"}

// unknownVariables are those that look like settings and are none. They are told and not refused: whoever runs containers
// gives them variables that nobody asked for, such as SVC_SERVICE_HOST.
func unknownVariables(environ []string) (told []string) {
	known := []string{configEnv}
	for _, s := range new(config.Config).Settings() {
		known = append(known, s.Env, s.FileEnv())
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		ours := strings.HasPrefix(name, "SVC_") && !slices.Contains(known, name)
		if ours && !slices.ContainsFunc(ofTests, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			told = append(told, name+" is not known, and is not used"+meant(name, known))
		}
	}
	slices.Sort(told)
	return told
}
