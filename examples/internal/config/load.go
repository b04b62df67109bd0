package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/crawlfleet/provider"
)

// The environment variables that win over the file. A program puts its flags
// on top of them by handing Load a getenv that answers for the flag.
const (
	// EnvConfig is the path of the file, where the program is given none.
	EnvConfig = "PROXYD_CONFIG"
	// EnvOwner is owner.
	EnvOwner = "PROXYD_OWNER"
	// EnvStateDir is stateDir.
	EnvStateDir = "PROXYD_STATE_DIR"
	// EnvListen is api.listen.
	EnvListen = "PROXYD_LISTEN"
	// EnvToken is one more token, with admin rights and the name
	// "environment".
	EnvToken = "PROXYD_TOKEN"
	// EnvCheckURL is check.url.
	EnvCheckURL = "PROXYD_CHECK_URL"
)

// embedded is the configuration of a program that is given none: three proxies
// on this machine. The revision names the address that the guests may reach,
// so that a daemon at another address replaces them instead of finding all of
// them broken.
const embedded = `
providers:
  local: {kind: local}
fleets:
  - name: web
    provider: local
    replicas: 3
    spec: {revision: "for the daemon at %s"}
`

// Load reads the file at path, or at [EnvConfig] where path is empty, or is
// [Default] where both are. It asks getenv, which is os.Getenv or stands for
// it, for everything that it takes from the environment.
//
// Load writes nothing, so it serves to check a file. A program calls
// [Config.Prepare] before it uses what Load returns. The error is an [*Error]
// with every fault, or that of reading the file; its Kind is Invalid.
func Load(path string, getenv func(string) string) (*Config, error) {
	path = cmp.Or(path, getenv(EnvConfig))
	if path == "" {
		return Default(getenv)
	}
	data, err := readFile(path, maxFile+1)
	if err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Field: "config", Err: err}
	}
	return Parse(path, data, getenv)
}

// Default returns the embedded configuration: three local proxies, an owner
// that Prepare makes, and the state directory that every program of this
// module finds by itself.
func Default(getenv func(string) string) (*Config, error) {
	text := fmt.Sprintf(embedded, cmp.Or(getenv(EnvListen), DefaultListen))
	return read("default", []byte(text), getenv, true)
}

// Parse is [Load] of a file that has been read. Relative paths in it count
// from the directory of the file that name names.
func Parse(name string, data []byte, getenv func(string) string) (*Config, error) {
	return read(name, data, getenv, false)
}

func read(name string, data []byte, getenv func(string) string, generated bool) (*Config, error) {
	s := &source{file: name, lines: map[string]int{}}
	c := defaults()
	c.source, c.embedded = s, generated
	if body := s.parse(data); body != nil {
		s.decode(body, "", reflect.ValueOf(c).Elem())
	}
	// A file that cannot be read as a whole is not judged by its rest.
	if err := s.err(); err != nil {
		return nil, err
	}
	r := resolver{source: s, getenv: getenv, dir: filepath.Dir(name)}
	r.config(c)
	c.validate()
	return c, s.err()
}

// resolver fills in what the file only points to.
type resolver struct {
	*source
	getenv func(string) string
	dir    string // relative paths count from here
}

func (r resolver) config(c *Config) {
	c.Owner = cmp.Or(r.getenv(EnvOwner), c.Owner)
	c.API.Listen = cmp.Or(r.getenv(EnvListen), c.API.Listen)
	c.Check.URL = cmp.Or(r.getenv(EnvCheckURL), c.Check.URL)
	r.stateDir(c)
	for i := range c.API.Tokens {
		r.token(fmt.Sprintf("api.tokens[%d]", i), &c.API.Tokens[i])
	}
	if token := r.getenv(EnvToken); token != "" {
		t := Token{Name: "environment", TokenEnv: EnvToken, Admin: true}
		r.token(EnvToken, &t)
		c.API.Tokens = append(c.API.Tokens, t)
	}
	for i := range c.Fleets {
		f := &c.Fleets[i]
		r.credentials(fmt.Sprintf("fleets[%d].spec.credentials", i), f)
	}
}

// stateDir takes the environment, the file or the place that the XDG Base
// Directory Specification names, in that order.
func (r resolver) stateDir(c *Config) {
	var err error
	switch dir := r.getenv(EnvStateDir); {
	case dir != "":
		c.StateDir, err = filepath.Abs(dir)
	case c.StateDir != "":
		c.StateDir, err = filepath.Abs(r.path(c.StateDir))
	default:
		c.StateDir, err = defaultStateDir(r.getenv)
	}
	if err != nil {
		r.fault("stateDir", "%v; set it, or %s", err, EnvStateDir)
	}
}

func defaultStateDir(getenv func(string) string) (string, error) {
	// The specification says to ignore a relative path.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "crawlfleet", "proxyd"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "crawlfleet", "proxyd"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no home directory to keep state in: %w", err)
	}
	return filepath.Join(dir, "crawlfleet", "proxyd"), nil
}

// minToken is the least bytes of a token, as the client API has it: 128 bits
// in base64.
const minToken = 22

// token replaces the source of a token by its digest.
func (r resolver) token(path string, t *Token) {
	set := 0
	for _, s := range []string{t.TokenFile, t.TokenEnv, t.SHA256} {
		if s != "" {
			set++
		}
	}
	if set != 1 {
		r.fault(path, "sets %d of tokenFile, tokenEnv and sha256; exactly one is needed", set)
		return
	}
	if t.SHA256 != "" {
		t.SHA256 = strings.ToLower(strings.TrimPrefix(t.SHA256, "sha256:"))
		if digest, err := hex.DecodeString(t.SHA256); err != nil || len(digest) != sha256.Size {
			r.fault(path+".sha256", "is not 64 hexadecimal digits; printf %%s TOKEN | sha256sum prints them")
		}
		return
	}
	secret, ok := r.secret(path, "token", t.TokenFile, t.TokenEnv)
	if !ok {
		return
	}
	if len(secret) < minToken || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		r.fault(path, "the token is not at least %d bytes of printable ASCII without space; openssl rand -hex 32 makes one", minToken)
		return
	}
	sum := sha256.Sum256([]byte(secret))
	t.SHA256 = hex.EncodeToString(sum[:])
}

// credentials finds the user's name and password of a fleet, as far as they
// are not to be generated.
func (r resolver) credentials(path string, f *Fleet) {
	c := &f.Template.Credentials
	user := cmp.Or(c.Username, c.UsernameFile, c.UsernameEnv) != ""
	password := cmp.Or(c.PasswordFile, c.PasswordEnv) != ""
	switch {
	case c.Generate && password:
		r.fault(path+".generate", "stands beside a password; keep one of them")
		return
	case !password && !c.Generate && len(f.Template.AllowFrom) == 0:
		c.Generate = true
	case !password && !c.Generate && user:
		r.fault(path, "has a username and no password; set passwordFile, passwordEnv or generate: true")
		return
	case !password && !c.Generate:
		return
	}
	name := c.Username
	if n := cmp.Or(c.UsernameFile, c.UsernameEnv); n != "" {
		if c.Username != "" {
			r.fault(path+".username", "stands beside usernameFile or usernameEnv; keep one of them")
			return
		}
		name, _ = r.secret(path, "username", c.UsernameFile, c.UsernameEnv)
	}
	c.resolved.Username = cmp.Or(name, f.Name)
	if password {
		p, _ := r.secret(path, "password", c.PasswordFile, c.PasswordEnv)
		c.resolved.Password = provider.Secret(p)
	}
}

// maxSecret is far more than any name, password or token may have.
const maxSecret = 4096

// secret reads what the keys <key>File and <key>Env point to. A line break at
// the end of a file does not count, because editors leave one.
func (r resolver) secret(path, key, file, env string) (string, bool) {
	if file != "" && env != "" {
		r.fault(path+"."+key+"Env", "stands beside %sFile; keep one of them", key)
		return "", false
	}
	if env != "" {
		if v := r.getenv(env); v != "" {
			return v, true
		}
		r.fault(path+"."+key+"Env", "the environment variable %s is empty or not set", env)
		return "", false
	}
	data, err := readFile(r.path(file), maxSecret)
	v := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if err == nil && v == "" {
		err = fmt.Errorf("%s is empty", file)
	}
	if err != nil {
		r.fault(path+"."+key+"File", "%v", err)
		return "", false
	}
	return v, true
}

func (r resolver) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.dir, p)
}

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err == nil && int64(len(data)) == limit {
		err = errors.New("is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return data, nil
}
