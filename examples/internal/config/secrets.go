package config

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/crawlfleet/provider"
)

const (
	// secretsFile holds what was generated; secretsLock keeps two programs
	// from generating it both.
	secretsFile = "secrets.json"
	secretsLock = "secrets.lock"
	// adhocSecret is the key of the password for instances that belong to no
	// fleet. It is no DNS label, so it is the name of no fleet.
	adhocSecret = "(adhoc)"
)

// stored is the content of secretsFile.
type stored struct {
	Version   int               `json:"version"`
	Owner     string            `json:"owner,omitempty"`
	Passwords map[string]string `json:"passwords,omitempty"` // by fleet
}

// Prepare makes the state directory, generates what the configuration asks to
// be generated and was not before, and fills it in. It is called once, before
// the Config is used, by whichever program comes first; another program on the
// same directory finds the same values.
//
// What it generates is in one file that only this user can read. Prepare
// refuses one that others can read, because its passwords are no secret then.
func (c *Config) Prepare() error {
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: fmt.Errorf("cannot be made: %w", err)}
	}
	err := updateSecrets(c.StateDir, func(s *stored) {
		if c.Owner == "" {
			s.Owner = cmp.Or(s.Owner, "proxyd-"+strings.ToLower(rand.Text()))
			c.Owner = s.Owner
		}
		for i := range c.Fleets {
			if cred := &c.Fleets[i].Template.Credentials; cred.Generate {
				cred.resolved.Password = s.password(c.Fleets[i].Name)
			}
		}
	})
	if err != nil {
		return &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: err}
	}
	return nil
}

// AdhocCredentials returns the user's name and password for instances that a
// person makes without naming any. They are generated at the first call and
// stay the same. Prepare has run before.
func (c *Config) AdhocCredentials() (provider.Credentials, error) {
	cred := provider.Credentials{Username: "adhoc"}
	err := updateSecrets(c.StateDir, func(s *stored) { cred.Password = s.password(adhocSecret) })
	if err != nil {
		return provider.Credentials{}, &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: err}
	}
	return cred, nil
}

// password returns the password under key, and makes it where there is none.
func (s *stored) password(key string) provider.Secret {
	if s.Passwords[key] == "" {
		if s.Passwords == nil {
			s.Passwords = map[string]string{}
		}
		s.Passwords[key] = rand.Text()
	}
	return provider.Secret(s.Passwords[key])
}

// updateSecrets reads the file, has change look at it and add to it, and
// writes it back where that made a difference, alone among all programs.
func updateSecrets(dir string, change func(*stored)) error {
	unlock, err := lock(filepath.Join(dir, secretsLock))
	if err != nil {
		return fmt.Errorf("the state directory cannot be locked: %w", err)
	}
	defer unlock()
	path := filepath.Join(dir, secretsFile)
	before, err := readPrivate(path)
	if err != nil {
		return err
	}
	s := stored{Version: 1}
	if before != nil {
		if err := json.Unmarshal(before, &s); err != nil || s.Version != 1 {
			return fmt.Errorf("%s is not a file that this version wrote; restore it, because what runs has its passwords", path)
		}
	}
	change(&s)
	after, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if string(after) == string(before) {
		return nil
	}
	return writePrivate(path, after)
}

// readPrivate reads a file that only its owner may read; nil when there is
// none.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the generated credentials: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file; move it away", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %v); chmod 600 it when you know who did",
			path, info.Mode().Perm())
	}
	return readFile(path, maxFile)
}

// writePrivate replaces a file as a whole: after a crash it has the old
// content or the new one.
func writePrivate(path string, data []byte) (err error) {
	// One name, because the caller holds the lock: what a crash leaves is
	// overwritten by the next.
	tmp, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing the generated credentials: %w", err)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("writing the generated credentials: %w", err)
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
