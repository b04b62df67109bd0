//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crawlfleet/provider"
)

// recordVersion is the form of a record that this version writes. One that it
// does not know is left alone, as somebody else's.
const recordVersion = 1

// record is the text of a claim: who holds the name. What the instance was
// made from is not in it but in started.json, because whoever completes a half
// made instance may do so from another spec.
type record struct {
	Version int       `json:"version"`
	Owner   string    `json:"owner"`
	Name    string    `json:"name"`
	Token   string    `json:"token"`
	Created time.Time `json:"created"`
	// Going is when Delete marked it. From then on only Delete has it.
	Going time.Time `json:"going,omitzero"`
}

// incarnation is one thing that has, or had, a name: what a claim holds, or a
// directory whose claim is gone.
type incarnation struct {
	record
	// unclaimed says that there is no claim: a person removed it, or a power
	// cut. The record is then made up from the directory's name.
	unclaimed bool
}

// same reports whether two readings found the same thing.
func (i incarnation) same(j incarnation) bool {
	return i.Token == j.Token && i.unclaimed == j.unclaimed && i.Going.Equal(j.Going)
}

func (i incarnation) ref() provider.Ref {
	return provider.Ref{Name: i.Name, ID: provider.FormatID(place, i.Token)}
}

// claimPath is the one place where the name of an owner can be claimed.
func (p *Provider) claimPath(name string) string {
	return p.path("claims", provider.BackendName(p.config.Owner, name, provider.MaxName))
}

// ownerKey stands for the owner in names of directories, and never collides
// with an instance's, because no instance has an empty name.
func (p *Provider) ownerKey() string {
	return provider.BackendName(p.config.Owner, "", provider.MaxName)
}

// dir is where everything of an incarnation is but its claim. Its name says
// whose it is, so that what is left over can be listed whatever it contains.
func (p *Provider) dir(i incarnation) string {
	return p.path("instances", p.ownerKey()+"."+i.Name+"."+i.Token)
}

// claim reads the claim of a name. Absent, for sure, is fs.ErrNotExist. What
// is there and is not a claim of this owner for this name is Conflict, whatever
// it is.
func (p *Provider) claim(name string) (incarnation, error) { return p.readClaim(p.claimPath(name)) }

func (p *Provider) readClaim(path string) (incarnation, error) {
	text, err := os.Readlink(path)
	if errors.Is(err, unix.EINVAL) {
		return incarnation{}, foreign(path, "is not a link")
	}
	if err != nil {
		return incarnation{}, cmp.Or(p.sure(), err)
	}
	var r record
	switch err := json.Unmarshal([]byte(text), &r); {
	case err != nil:
		return incarnation{}, foreign(path, "is not a record")
	case r.Version != recordVersion:
		return incarnation{}, foreign(path, fmt.Sprintf("is of version %d, and this program knows %d", r.Version, recordVersion))
	case r.Owner != p.config.Owner || p.claimPath(r.Name) != path || !validToken(r.Token):
		return incarnation{}, foreign(path, "is a record of something else")
	}
	return incarnation{record: r}, nil
}

func foreign(path, why string) error {
	return &provider.Error{Kind: provider.Conflict, Err: fmt.Errorf("%s %s; it is left alone", path, why)}
}

// validToken guards the paths that are built from a token.
func validToken(token string) bool {
	return token != "" && len(token) <= 64 && !strings.ContainsFunc(token, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

// makeClaim claims the name, in one exclusive step. It fails with fs.ErrExist
// when something is there.
func (p *Provider) makeClaim(ctx context.Context, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return p.change(ctx, "make claim", func() error { return os.Symlink(string(text), p.claimPath(r.Name)) })
}

// markGoing replaces the claim by one that says that it is being deleted. The
// new link waits in the instance's directory, so that a crash between the two
// steps leaves nothing outside. The caller holds the name's lock.
func (p *Provider) markGoing(ctx context.Context, i *incarnation) error {
	r := i.record
	r.Going = time.Now().Round(0)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	next := filepath.Join(p.dir(*i), "going")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = p.change(ctx, "write mark", func() error { return os.Symlink(string(text), next) })
	if err == nil {
		err = p.change(ctx, "mark claim", func() error { return os.Rename(next, p.claimPath(i.Name)) })
	}
	if err == nil {
		i.record = r
	}
	return err
}

// find returns what there is of a name: what the claim holds first, then what
// is left over. With a token it returns that incarnation or nothing. What is
// not this owner's is not there.
func (p *Provider) find(name, token string) ([]incarnation, error) {
	var found []incarnation
	claimed, err := p.claim(name)
	switch {
	case err == nil:
		found = append(found, claimed)
	case !errors.Is(err, fs.ErrNotExist) && provider.KindOf(err) != provider.Conflict:
		return nil, err
	}
	left, err := p.leftovers(name, token)
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		if l.Token != claimed.Token {
			found = append(found, l)
		}
	}
	return slices.DeleteFunc(found, func(i incarnation) bool { return token != "" && i.Token != token }), nil
}

// leftovers returns the directories of a name as if none had a claim, oldest
// first.
func (p *Provider) leftovers(name, token string) ([]incarnation, error) {
	if token != "" {
		i := incarnation{record: record{Name: name, Token: token}, unclaimed: true}
		info, err := os.Lstat(p.dir(i))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil {
			i.Created = info.ModTime()
		}
		return []incarnation{i}, err
	}
	entries, err := os.ReadDir(p.path("instances"))
	if err != nil {
		return nil, err
	}
	var found []incarnation
	for _, e := range entries {
		n, token, ok := p.parseDir(e.Name())
		if !ok || n != name {
			continue
		}
		more, err := p.leftovers(name, token)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, func(a, b incarnation) int { return a.Created.Compare(b.Created) })
	return found, nil
}

// parseDir takes apart what dir made for this owner.
func (p *Provider) parseDir(base string) (name, token string, ok bool) {
	rest, ok := strings.CutPrefix(base, p.ownerKey()+".")
	if !ok {
		return "", "", false
	}
	name, token, ok = strings.Cut(rest, ".")
	return name, token, ok && validToken(token) && provider.ValidateName(name) == nil
}

// all returns everything of this owner, once each: names and tokens only, to
// be looked at one by one.
func (p *Provider) all() ([]incarnation, error) {
	claims, err := os.ReadDir(p.path("claims"))
	if err != nil {
		return nil, err
	}
	var found []incarnation
	claimed := map[string]bool{} // by token
	for _, e := range claims {
		i, err := p.readClaim(p.path("claims", e.Name()))
		switch {
		case err == nil:
			found = append(found, i)
			claimed[i.Token] = true
		case errors.Is(err, fs.ErrNotExist) || provider.KindOf(err) == provider.Conflict:
			// Gone meanwhile, or not ours.
		default:
			return nil, err
		}
	}
	dirs, err := os.ReadDir(p.path("instances"))
	if err != nil {
		return nil, err
	}
	for _, e := range dirs {
		if name, token, ok := p.parseDir(e.Name()); ok && !claimed[token] {
			found = append(found, incarnation{record: record{Name: name, Token: token}, unclaimed: true})
		}
	}
	return found, nil
}

// parseID returns the token of an ID of this provider, and nothing for none.
func parseID(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	at, token, err := provider.ParseID(id)
	if err == nil && (at != place || !validToken(token)) {
		err = invalid("ID", "%q is not of a local provider", id)
	}
	return token, err
}
