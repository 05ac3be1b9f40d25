package repository

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inherited are the variables that git takes over from us: how to get out of here, and whom to trust.
var inherited = []string{
	"PATH", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
}

// settings are git's for every command. A repository can bring none of its own: nothing of it is ever checked out.
var settings = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.symlinks", "false"}, {"core.fsmonitor", "false"}, {"core.attributesFile", os.DevNull},
	{"core.protectHFS", "true"}, {"core.protectNTFS", "true"}, {"core.bigFileThreshold", "8m"}, {"core.askPass", ""},
	{"credential.helper", ""}, {"gc.auto", "0"}, {"maintenance.auto", "false"}, {"pack.threads", "1"},
	{"fetch.recurseSubmodules", "false"}, {"submodule.recurse", "false"}, {"fetch.unpackLimit", "1"}, {"fetch.writeCommitGraph", "false"},
	{"transfer.bundleURI", "false"}, {"protocol.allow", "never"}, {"protocol.version", "2"},
	// A redirect would take the token along, and a repository that was renamed is not the one that was chosen.
	{"http.followRedirects", "false"}, {"http.lowSpeedLimit", "1000"}, {"http.lowSpeedTime", "30"}, {"http.emptyAuth", "false"},
	{"lfs.fetchexclude", "*"}, {"filter.lfs.smudge", ""}, {"filter.lfs.process", ""}, {"filter.lfs.required", "false"},
}

// environment is all that git gets to know. The token is in it, for the provider's address alone, when git goes there.
func (f *remote) environment(far bool) []string {
	home := filepath.Join(f.scratch.Path, "home")
	env := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES=" + f.scratch.Path, "GIT_DIR=" + filepath.Join(f.scratch.Path, "git"), "GIT_ALLOC_LIMIT=512m",
		"LC_ALL=C", "LANGUAGE=",
	}
	for _, name := range inherited {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	all := settings
	if far {
		scheme, _, _ := strings.Cut(f.url, ":")
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + f.token))
		env = append(env, "GIT_ALLOW_PROTOCOL="+scheme)
		all = append(all[:len(all):len(all)], [2]string{"http." + f.url + ".extraHeader", "Authorization: Basic " + basic})
	} else {
		env = append(env, "GIT_ALLOW_PROTOCOL=none")
	}
	for i, setting := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+setting[0], "GIT_CONFIG_VALUE_"+n+"="+setting[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
}
