package fleet_test

import (
	"fmt"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

// A fleet of two finds one of its members stopped and the other missing.
func ExampleDecide() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	memory := fleet.NewMemory(nil)
	stopped := provider.Instance{
		Ref: provider.Ref{Name: "web-0", ID: "1/local/a"}, State: provider.Stopped, Reason: provider.ReasonGuestCrash,
	}
	memory.Listed([]provider.Instance{stopped}, nil, memory.Mark(), now)
	observed := fleet.Observed{Now: now, Fleets: []fleet.Fleet{{Name: "web", Replicas: 2}}, Memory: memory}
	for _, action := range fleet.Decide(observed).Actions {
		fmt.Println(action.Op, action.Ref, "because", action.Why)
		memory.Begin(action, now)
	}
	fmt.Println("while these run:", len(fleet.Decide(observed).Actions), "more")
	// Output:
	// Delete web-0 (1/local/a) because Stopped
	// Create web-1 because Missing
	// while these run: 0 more
}
