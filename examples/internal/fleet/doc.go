// Package fleet decides what to do about fleets of proxies: which members to
// make, which to look for, which to drain and which to delete.
//
// It is pure. [Decide] maps what was observed to actions, and [Memory] keeps
// what was observed; neither reads a clock, makes a call or starts a
// goroutine. The program around them lists, checks and acts, and tells the
// Memory. Whatever drives it (the loop of proxyd, a controller of Kubernetes),
// the rules are the same, and they are tested here.
//
// # One provider at a time
//
// A Memory and a Decide are about one provider, so that nothing that one
// provider does can reach the decisions about another. A fleet that moved to
// another provider is, for the one that it left, a fleet of no replicas.
//
// # Names
//
// The members of a fleet are "<fleet>-<n>", with n from 0. A fleet of three is
// web-0, web-1 and web-2, always. What is wanted is therefore known without a
// database, and after a crash every member is found by its name.
//
// # What happens to a member
//
//	wanted, no instance known      Create, which finds what is there already
//	known, but not in the list     Get: an absence is a question, not an answer
//	Incomplete                     Create, which completes it
//	Deleting                       Delete again until it is gone, then Create
//	Failed, Stopped                Delete at once, then Create
//	Unknown                        nothing, whatever the checks say
//	n at or over replicas          Drain, then Delete
//	two of one name                the later one: Drain, then Delete
//	not working                    Drain, Delete, Create, within the budgets
//	made from another spec         Drain, Delete, Create, within the budgets
//	too old                        Drain, Delete, Create, within the budgets
//
// Draining means that no new lease is handed out; a drained member is deleted
// when no lease is left or when the limit is over. One that cannot serve
// (Pending, Incomplete, Failed, Stopped) is deleted without.
//
// What stands in the list and belongs to no fleet is left alone; it is for the
// collector of orphans, which waits and has a guard ([Plan.Strays]).
//
// # Budgets
//
// At most one member of a fleet is on its way out to be replaced, and the next
// one waits until the successor has worked. A roll-out of a spec that does not
// work therefore costs one member. Replacing for age waits until the whole
// fleet works. Over all fleets of a provider, [Policy.Replacing] are replaced
// at once. Members that are Failed or Stopped are outside of the budgets,
// since deleting them takes nothing away.
//
// # The freeze
//
// When more than one member of a fleet fails its checks, and these are more
// than [Policy.FreezeShare] of the members that have been checked, it is more
// likely that the check or the network is broken than that all these proxies
// are. No member of the fleet is then replaced for not working or for age,
// until the share falls. One failing member alone is no mass, even in a fleet
// of one or two. The freeze does not hold for Failed and Stopped: that is what
// the backend says of a machine, a definite cause, and such a machine serves
// nobody; a host that restarted must not need a person. It does not hold for a
// changed spec either, because that is how an operator repairs a fleet whose
// image is broken, and the budget of one stops a wrong repair.
package fleet
