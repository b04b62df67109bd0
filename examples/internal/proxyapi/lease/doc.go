// Package lease hands out proxies for a time: it chooses which, counts what is
// in flight, and takes leases back when they are released, when they expire,
// or when their proxy goes.
//
// A [Pool] is pure bookkeeping in memory. It runs no goroutine, makes no
// connection and reads one clock, which is given to it. The program that keeps
// the fleet tells it what there is ([Pool.Replace]) and asks it what is in use
// ([Pool.InUse]); package proxyapi serves it over HTTP.
//
// # Selection
//
// A proxy is eligible when it works, is not draining, and matches. Among the
// eligible ones below the cap the Pool takes the one with the fewest leases in
// flight, and of those the least recently used. Both count from the moment a
// lease is handed out, under one lock, so that callers at the same time spread
// as callers one after another do.
//
// # Sessions
//
// A session of a holder gets the same proxy again, as long as that proxy is
// eligible and below the cap. Otherwise the next lease binds it to another one.
package lease
