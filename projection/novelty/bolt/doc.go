// Package bolt stores a set of sequences in a bbolt file. Later runs and other processes can then
// avoid the sequences that one run produced.
//
// A [Set] looks up every sequence in the file. A [Corpus] also keeps the set in memory as a
// [constraint.Lexicon], which allows joint draws of new sequences and gives the probability of
// novelty. Use either as the field Seen of a novelty.Projector:
//
//	known, err := bolt.OpenCorpus(ctx, "known.db", bolt.Config{})
//	defer known.Close()
//	recipe := novelty.Projector{Seen: known}
//
// # Caveats
//
// Add returns once the operating system has written the sequence to disk. If the process is killed
// or the machine loses power, no acknowledged sequence is lost. Each Add takes a millisecond or
// more. Import writes many sequences at a time.
//
// A file can be open either in one process that writes or in any number of processes that only
// read. Other processes wait for some time and then get [ErrLocked].
//
// The package is a separate module, so that the library does not depend on bbolt.
package bolt
