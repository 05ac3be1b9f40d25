package service

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asvs are the requirements that the contract names.
var asvs = strings.Fields(`3.3.1 3.3.3 4.1.3 4.2.1 4.2.2 4.2.3 4.2.4 6.2.4 6.2.8 6.3.2 6.3.3 6.3.8 6.4.6 6.5.2 6.8.4 7.2.3 7.2.4 8.3.2 13.2.1 14.2.1
	16.3.1 16.3.2`)

func TestEveryRequirementIsMetByATestOrAStatedDeviation(t *testing.T) {
	text, err := os.ReadFile("../docs/asvs.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !regexp.MustCompile(`^ \d`).MatchString(cells[1]) {
			continue
		}
		listed = append(listed, strings.TrimSpace(cells[1]))
		tests := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(line, -1)
		switch state := strings.TrimSpace(cells[3]); {
		case state == "met" && len(tests) == 0:
			t.Errorf("%s is met by no test", cells[1])
		case state != "met" && state != "deviation":
			t.Errorf("%s is %q", cells[1], state)
		}
		for _, name := range tests {
			if err := exec.Command("grep", "-rqE", "--include=*_test.go", "^func "+name[1]+`\(`, "..").Run(); err != nil {
				t.Errorf("%s names %s, which is no test", cells[1], name[1])
			}
		}
	}
	if !slices.Equal(listed, asvs) {
		t.Errorf("listed %v, want %v", listed, asvs)
	}
}
