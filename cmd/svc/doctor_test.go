package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/doctor"
)

func TestDoctorExitsWithOneIfSomethingMustBeMended(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want string // a finding that is no skip
	}{
		"nothing there":         {nil, command.OK, "ok data folder"},
		"an address of another": {[]string{"--listen", "192.0.2.1:1"}, command.Failed, "fail listen"},
		"a gateway on SQLite":   {[]string{"--gateway"}, command.Failed, "fail configuration"},
		"a runtime without any": {[]string{"--runtime"}, command.Failed, "fail tokens"},
		"a flag that is none":   {[]string{"--everything"}, command.Misuse, ""},
	} {
		var out, said bytes.Buffer
		args := append([]string{"doctor", "--json", "--data", filepath.Join(t.TempDir(), "data"), "--ops-listen", "127.0.0.1:0"}, test.args...)
		if test.want != "fail listen" {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		if code := run(args, &out, &said); code != test.code {
			t.Errorf("%s: exit code %d: %s", name, code, said.String())
		}
		if test.want == "" {
			continue
		}
		var answer struct{ Checks []doctor.Finding }
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out.String())
		}
		found := false
		for _, f := range answer.Checks {
			found = found || f.Verdict+" "+f.Name == test.want
			if f.Verdict == doctor.Fail && f.Mend == "" {
				t.Errorf("%s: %+v does not say how to mend it", name, f)
			}
		}
		if !found {
			t.Errorf("%s: no %q in %s", name, test.want, out.String())
		}
	}
}

func TestDoctorIsReadByAPerson(t *testing.T) {
	var out, said bytes.Buffer
	if code := run([]string{"doctor", "--runtime", "--data", filepath.Join(t.TempDir(), "data"), "--ops-listen", "127.0.0.1:0"}, &out, &said); code != command.Failed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(out.String(), "\nfail  tokens             runtime.token: it is missing") || !strings.Contains(out.String(), "\n                         mend: ") || said.String() != "svc: something must be mended\n" {
		t.Errorf("%s%s", out.String(), said.String())
	}
}
