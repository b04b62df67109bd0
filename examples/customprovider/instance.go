//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/crawlfleet/provider"
)

// started is the content of started.json: what the guest was started with. Its
// being there says that the document was handed over.
type started struct {
	SpecHash string            `json:"specHash"`
	Labels   map[string]string `json:"labels,omitempty"`
	Endpoint string            `json:"endpoint"`
}

// readStarted reads started.json; fs.ErrNotExist says that the instance is
// half made.
func readStarted(dir string) (started, error) {
	var s started
	err := readJSON(filepath.Join(dir, "started.json"), &s)
	return s, err
}

// looks is how often observe starts again when what it reads changes under it.
const looks = 10

// observe returns one incarnation of the name as an Instance, without a lock:
// it reads the claim again afterwards, so that the answer is from one moment.
// Without a token it is the one that a caller means by the name.
func (p *Provider) observe(name, token string) (provider.Instance, error) {
	for range looks {
		found, err := p.find(name, token)
		if err != nil {
			return provider.Instance{}, err
		}
		if len(found) == 0 {
			return provider.Instance{}, p.notFound()
		}
		inst := p.render(found[0])
		again, err := p.find(name, token)
		if err == nil && len(again) > 0 && found[0].same(again[0]) {
			return inst, nil
		}
	}
	return provider.Instance{}, &provider.Error{Kind: provider.Unavailable, Err: errors.New("it changes faster than it can be read")}
}

// notFound is the error for what is not there, as far as that is sure.
func (p *Provider) notFound() error {
	if err := p.sure(); err != nil {
		return err
	}
	return &provider.Error{Kind: provider.NotFound, Err: errors.New("there is no claim and no directory of it")}
}

// render describes an incarnation as it is now.
//
//	claim    started.json  alive     state
//	going    any           any       Deleting
//	present  missing       any       Incomplete
//	present  present       locked    Running
//	present  present       free      Stopped
//	missing  any           any       Incomplete (a leftover)
//	present  unreadable    locked    Unknown
func (p *Provider) render(i incarnation) provider.Instance {
	inst := provider.Instance{Ref: i.ref(), Scheme: "http", Created: i.Created, State: provider.Incomplete}
	dir := p.dir(i)
	s, err := readStarted(dir)
	inst.SpecHash, inst.Labels, inst.Endpoint = s.SpecHash, s.Labels, s.Endpoint
	if addr, err := netip.ParseAddrPort(s.Endpoint); err == nil {
		inst.Addresses = []netip.Addr{addr.Addr()}
	}
	switch {
	case !i.Going.IsZero():
		inst.State = provider.Deleting
		return inst
	case i.unclaimed:
		inst.Message = "its claim is gone; Create takes what is left over, Delete removes it"
		return inst
	case errors.Is(err, fs.ErrNotExist):
		inst.Message = "it was not started to the end; Create completes it, Delete removes it"
		return inst
	}
	lives, aliveErr := alive(dir)
	switch {
	case aliveErr == nil && !lives:
		inst.State, inst.Reason = provider.Stopped, provider.ReasonGuestCrash
		inst.Message = "the guest ended" + lastLine(filepath.Join(dir, "log"))
		// Reaps it where an earlier provider of this program was its parent.
		_, _ = gone(dir)
	case err == nil && aliveErr == nil:
		inst.State = provider.Running
	default:
		inst.State = provider.Unknown
		inst.Message = errors.Join(err, aliveErr).Error()
	}
	return inst
}

// maxLine bounds what of a log gets into a message.
const maxLine = 200

// lastLine returns the end of a log for a message, or nothing. Guests print no
// credentials, which docs/guest.md asks of them.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-4*maxLine), 4*maxLine))
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(tail), []byte("\n"))
	line := strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(lines[len(lines)-1]), "?"))
	if line == "" {
		return ""
	}
	return fmt.Sprintf("; its last line is: %.*s", maxLine, line)
}
