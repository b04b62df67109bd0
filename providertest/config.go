package providertest

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

// Defaults of a [Config].
const (
	// DefaultPatience is long enough for a machine of a public cloud to start
	// or to go.
	DefaultPatience = 2 * time.Minute
	// DefaultCallers is how many callers meet on one name, and how many names
	// are asked for at once. Races that eight callers miss, 64 find.
	DefaultCallers = 64
)

// Config says what to test and how patiently. Open is required; the zero value
// of each other field is its default.
type Config struct {
	// Open sets up one harness, and is called once for each check: checks
	// share nothing but what Open closes over. The harness is purged before
	// and after its check, and closed afterwards when it is an io.Closer.
	// An error blocks the check.
	Open func(ctx context.Context, env Env) (Harness, error)
	// Patience is how long the suite waits for what takes the backend time (a
	// delete to finish, a machine to stop), and how long any one call may
	// take. Zero is [DefaultPatience]. A larger value costs time only where
	// something is slow or broken.
	Patience time.Duration
	// Limit is the watchdog's: a check that takes longer is ended and has
	// failed. Zero is ten times Patience.
	Limit time.Duration
	// Callers is how many goroutines call at once where a rule is about that.
	// Zero is [DefaultCallers]. A backend with a small quota needs less.
	Callers int
	// Skip leaves out the checks that need what the harness cannot do, or that
	// belong to a rule, or by their own name. The key is a [Need], a rule's ID
	// ("Create/2") or a check's name ("Create/Squatted"), the value the
	// reason, which the report prints. A skipped MUST is not conformant all the
	// same; [Run] accepts it when it is listed here.
	Skip map[string]string
}

// Env is what a harness gets for one check.
type Env struct {
	// ID is unique among all checks of all runs: eight lower-case letters and
	// digits. The suite builds the owners and names of the check from it; a
	// harness may name a directory or a namespace after it.
	ID string
	// Check is the name of the check, for logs. A provider must not see it.
	Check string
	// Logger is for the provider, which logs nowhere else. The suite searches
	// what arrives there for secrets.
	Logger *slog.Logger
}

func (c Config) patience() time.Duration { return cmp.Or(c.Patience, DefaultPatience) }

func (c Config) limit() time.Duration { return cmp.Or(c.Limit, 10*c.patience()) }

func (c Config) callers() int { return cmp.Or(c.Callers, DefaultCallers) }

// skip returns the reason why a check is left out, and the key that says so.
func (c Config) skip(keys ...string) (key, reason string) {
	for _, key := range keys {
		if reason, ok := c.Skip[key]; ok {
			return key, reason
		}
	}
	return "", ""
}
