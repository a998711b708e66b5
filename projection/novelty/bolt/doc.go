// Package bolt keeps a set of sequences in a bbolt file, so that later runs and other processes
// know what one run produced.
//
// A [Set] looks every sequence up in the file; a [Corpus] also holds the set in memory as
// a [constraint.Lexicon], for joint draws of new sequences and the probability of
// novelty. Either is the Seen of a novelty.Projector:
//
//	known, err := bolt.OpenCorpus(ctx, "known.db", bolt.Config{})
//	defer known.Close()
//	recipe := novelty.Projector{Seen: known}
//
// # Caveats
//
// Add returns when the operating system has the sequence on its disk: a process that is
// killed, or a machine that loses power, loses nothing that Add has acknowledged. Each
// Add takes a millisecond or more; Import writes many sequences at a time.
//
// At any time, either one process or any number of processes that only read can have a file open.
// Others wait for some time and then get [ErrLocked].
//
// The package is a separate module, so that the library does not depend on bbolt.
package bolt
