package config

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crawlfleet/provider"
)

const token = "0123456789abcdef0123456789abcdef"

func TestDefault(t *testing.T) {
	getenv := env(t)
	c, err := Load("", getenv)
	if err != nil {
		t.Fatal(err)
	}
	if c.Owner != "" {
		t.Errorf("the owner is %q before Prepare", c.Owner)
	}
	if _, err := c.Fleets[0].Spec("web-0"); provider.KindOf(err) != provider.Invalid {
		t.Errorf("Spec before Prepare returned %v, want Invalid", err)
	}
	if _, err := os.Stat(filepath.Join(getenv(EnvStateDir), secretsFile)); err == nil {
		t.Error("Load wrote into the state directory")
	}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := provider.ValidateName(c.Owner); err != nil {
		t.Errorf("the generated owner: %v", err)
	}
	if err := provider.ValidateName(c.AdhocOwner()); err != nil {
		t.Errorf("the owner of what is made by hand: %v", err)
	}
	if diff := cmp.Diff([]string{"web-0", "web-1", "web-2"}, c.Fleets[0].Members()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	for _, name := range c.Fleets[0].Members() {
		spec, err := c.Fleets[0].Spec(name)
		if err != nil || spec.Name != name || spec.Credentials.Username != "web" || len(spec.Credentials.Password) < 20 {
			t.Errorf("Spec(%s) = %+v, %v", name, spec, err)
		}
	}
	if c.API.Listen != DefaultListen || c.Check.Interval != 10*time.Second || c.Providers["local"].Kind != "local" {
		t.Errorf("the defaults are %+v", c)
	}
}

// TestDefaultFollowsAddress: guests reach the daemon's address only, so another
// one has to change the spec.
func TestDefaultFollowsAddress(t *testing.T) {
	hash := func(pairs ...string) string {
		c, err := Load("", env(t, pairs...))
		if err != nil {
			t.Fatal(err)
		}
		return c.Fleets[0].spec("web-0").Hash()
	}
	if hash() != hash(EnvListen, DefaultListen) {
		t.Error("the default address, given, changes the spec")
	}
	if hash() == hash(EnvListen, "127.0.0.1:9") {
		t.Error("another address does not change the spec")
	}
}

func TestEnvironmentWins(t *testing.T) {
	text := "owner: a\nstateDir: s\napi: {listen: 'localhost:1'}\ncheck: {url: http://a.example/}\nproviders: {p: {kind: local}}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "proxyd.yaml")
	writeFile(t, file, text)

	c, err := Load(file, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Owner, c.StateDir, c.API.Listen, c.Check.URL}
	if diff := cmp.Diff([]string{"a", filepath.Join(dir, "s"), "localhost:1", "http://a.example/"}, got); diff != "" {
		t.Errorf("from the file (-want +got):\n%s", diff)
	}

	c, err = Load("", env(t, EnvConfig, file, EnvOwner, "b", EnvStateDir, "/x", EnvListen, ":2", EnvCheckURL, "https://b.example", EnvToken, token))
	if err != nil {
		t.Fatal(err)
	}
	got = []string{c.Owner, c.StateDir, c.API.Listen, c.Check.URL}
	if diff := cmp.Diff([]string{"b", "/x", ":2", "https://b.example"}, got); diff != "" {
		t.Errorf("from the environment (-want +got):\n%s", diff)
	}
	if len(c.API.Tokens) != 1 || c.API.Tokens[0].Digest() != sha256.Sum256([]byte(token)) || !c.API.Tokens[0].Admin {
		t.Errorf("the token of the environment is %+v", c.API.Tokens)
	}
}

func TestStateDir(t *testing.T) {
	for _, test := range []struct {
		name string
		vars map[string]string
		want string
	}{
		{"XDG", map[string]string{"XDG_STATE_HOME": "/xdg", "HOME": "/home/u"}, "/xdg/crawlfleet/proxyd"},
		{"XDG relative", map[string]string{"XDG_STATE_HOME": "xdg", "HOME": "/home/u"}, "/home/u/.local/state/crawlfleet/proxyd"},
		{"home", map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/crawlfleet/proxyd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Default(func(key string) string { return test.vars[key] })
			if err != nil || c.StateDir != test.want {
				t.Errorf("got %q, %v, want %q", c.StateDir, err, test.want)
			}
		})
	}
	t.Run("no home", func(t *testing.T) {
		t.Setenv("HOME", "")
		t.Setenv("XDG_CACHE_HOME", "")
		_, err := Default(func(string) string { return "" })
		if err == nil || !strings.Contains(err.Error(), EnvStateDir) {
			t.Errorf("got %v, want an error that names %s", err, EnvStateDir)
		}
	})
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), env(t))
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v, want Invalid with the file's name", err)
	}
}

// head is a configuration up to its fleets.
const head = "owner: a\nproviders: {p: {kind: local}}\n"

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "password"), "from file\n")
	writeFile(t, filepath.Join(dir, "good"), "from-file\r\n")
	writeFile(t, filepath.Join(dir, "user"), "carol\n")
	writeFile(t, filepath.Join(dir, "empty"), "\n")
	getenv := env(t, "PW", "from-env", "USR", "dave")
	for _, test := range []struct {
		name, credentials string
		want              provider.Credentials
		fault             string // with the path's end
	}{
		{"password from environment", "{passwordEnv: PW}", provider.Credentials{Username: "web", Password: "from-env"}, ""},
		{"password from file", "{username: bob, passwordFile: good}", provider.Credentials{Username: "bob", Password: "from-file"}, ""},
		{"username from file", "{usernameFile: user, passwordEnv: PW}", provider.Credentials{Username: "carol", Password: "from-env"}, ""},
		{"username from environment", "{usernameEnv: USR, passwordEnv: PW}", provider.Credentials{Username: "dave", Password: "from-env"}, ""},
		{"literal", "{username: bob, password: hunter2}", provider.Credentials{},
			"credentials.password: a password in this file is refused; write passwordFile"},
		{"space inside", "{passwordFile: password}", provider.Credentials{},
			"credentials.passwordFile: has a character other than printable"},
		{"variable not set", "{passwordEnv: NONE}", provider.Credentials{},
			"credentials.passwordEnv: the environment variable NONE is empty or not set"},
		{"file missing", "{passwordFile: none}", provider.Credentials{}, "credentials.passwordFile: cannot be read: open "},
		{"file empty", "{passwordFile: empty}", provider.Credentials{}, "credentials.passwordFile: empty is empty"},
		{"two passwords", "{passwordFile: good, passwordEnv: PW}", provider.Credentials{}, "credentials.passwordEnv: stands beside passwordFile"},
		{"two names", "{username: a, usernameEnv: USR, passwordEnv: PW}", provider.Credentials{}, "credentials.username: stands beside usernameFile"},
		{"generated beside a password", "{passwordEnv: PW, generate: true}", provider.Credentials{}, "credentials.generate: stands beside a password"},
		{"bad name", "{username: 'a:b', passwordEnv: PW}", provider.Credentials{}, "credentials.username: has a character other than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := head + "fleets:\n- name: web\n  provider: p\n  replicas: 1\n  spec:\n    credentials: " + test.credentials + "\n"
			c, err := Parse(filepath.Join(dir, "x.yaml"), []byte(text), getenv)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), "x.yaml:8: fleets[0].spec."+test.fault) {
					t.Errorf("got %v, want a fault at line 8 with\n%s", err, test.fault)
				}
				if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "from-")) {
					t.Errorf("the error shows the password: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			spec, err := c.Fleets[0].Spec("web-0")
			if err != nil || spec.Credentials != test.want {
				t.Errorf("got %q %q, %v", spec.Credentials.Username, string(spec.Credentials.Password), err)
			}
		})
	}
}

func TestGenerateIsDefaultWithoutNetworks(t *testing.T) {
	c := parse(t, head+`fleets:
- {name: nothing, provider: p}
- {name: networks, provider: p, spec: {allowFrom: [10.0.0.0/8]}}
- {name: both, provider: p, spec: {allowFrom: [10.0.0.0/8], credentials: {username: eve, generate: true}}}
`, env(t))
	want := map[string]string{"nothing": "nothing", "networks": "", "both": "eve"}
	for i := range c.Fleets {
		f := &c.Fleets[i]
		spec, err := f.Spec("x-0")
		if err != nil || spec.Credentials.Username != want[f.Name] {
			t.Errorf("%s: user %q, %v, want %q", f.Name, spec.Credentials.Username, err, want[f.Name])
		}
	}
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "token"), token+"\n")
	getenv := env(t, "TOKEN", token, "SHORT", "abc", "SPACE", token+" "+token)
	digest := "3ca3f0ed1a1dd1f2db7e2d2b1d6e0d5e0d1c9a4c1b6c4f0b4b0d3f0f9a0b1c2d"
	for _, test := range []struct{ token, fault string }{
		{"{name: a, tokenFile: token}", ""},
		{"{name: a, tokenEnv: TOKEN, admin: true, fleets: [web]}", ""},
		{"{name: a, sha256: " + digest + "}", ""},
		{"{name: a, sha256: 'sha256:" + strings.ToUpper(digest) + "'}", ""},
		{"{name: a, token: " + token + "}", "api.tokens[0].token: a token in this file is refused; write tokenFile, tokenEnv or sha256"},
		{"{name: a}", "api.tokens[0]: sets 0 of tokenFile, tokenEnv and sha256"},
		{"{name: a, tokenEnv: TOKEN, tokenFile: token}", "api.tokens[0]: sets 2 of"},
		{"{name: a, tokenEnv: SHORT}", "api.tokens[0]: the token is not at least 22 bytes"},
		{"{name: a, tokenEnv: SPACE}", "api.tokens[0]: the token is not at least 22 bytes of printable ASCII"},
		{"{name: a, sha256: 12ab}", "api.tokens[0].sha256: is not 64 hexadecimal digits"},
		{"{tokenEnv: TOKEN}", "api.tokens[0].name: the name of the token is empty"},
		{"{name: a, tokenEnv: TOKEN, fleets: [web, wob]}", `api.tokens[0].fleets[1]: there is no fleet "wob"`},
		{"{name: a, tokenEnv: TOKEN}\n  - {name: b, tokenFile: token}", "api.tokens[1]: is the same token as one before"},
	} {
		t.Run(test.token, func(t *testing.T) {
			text := head + "fleets: [{name: web, provider: p}]\napi:\n  tokens:\n  - " + test.token + "\n"
			c, err := Parse(filepath.Join(dir, "x.yaml"), []byte(text), getenv)
			switch {
			case test.fault == "" && err != nil:
				t.Error(err)
			case test.fault == "" && c.API.Tokens[0].Digest() == [sha256.Size]byte{}:
				t.Error("there is no digest")
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("got %v, want a fault with\n%s", err, test.fault)
			case test.fault != "" && strings.Contains(err.Error(), token):
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}
