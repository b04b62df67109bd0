// Package proxyapi is the HTTP API that crawlers take proxies from, and that
// operators and monitoring read. docs/api.md describes it for its clients.
//
// A [Server] serves what a [lease.Pool] holds; the program around it keeps the
// fleet and tells the pool. It is one API for programs that differ in how they
// keep a fleet, so it reads them through functions ([Options.Providers],
// [Options.Ready]) and changes nothing but leases.
//
// Every route is in one table (routes.go), with who may call it. Whatever is
// refused, wherever, is answered as application/problem+json (problem.go).
package proxyapi
