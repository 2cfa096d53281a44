/*
 * The key protocol of src/queue/keys.hpp: the jobs of one serialization key, the enqueuer, workers and cancellers.
 * README.md says what is modelled and what is not, and how this maps to the code. The file `configurations` lists the
 * sets of macros with which it is checked:
 *
 *   JOBS=n        jobs in the life of the key (2 to 4)
 *   WORKERS=n     processes that dequeue and finish jobs
 *   CANCELLERS=n  processes that call pgq_cancel()
 *   CALLS=n       calls in one transaction of a worker or canceller, at most (default 1)
 *   BATCH=n       jobs added in one transaction of the enqueuer, at most (default: all)
 *   EXTRA=n       other things done in one transaction of the enqueuer, at most (default 0), which are
 *   TIMERS          running the timers: expired leases, dead letters, due retries
 *   CANCEL_NOW      cancelling by request
 *   FORGET        the enqueuer may forget which keys got a job in its transaction
 *   PLANNED       the last job is a scheduled one: there from the start, but without a place
 *   RETRIES       workers also fail, release and extend
 *   DUE           dequeue runs the timers
 *   MIXED         workers cancel, too, whatever job it is
 *   MUT_...       a rule is broken: see "Mutations" in README.md
 */
#ifndef CALLS
#define CALLS 1
#endif
#ifndef BATCH
#define BATCH JOBS
#endif
#ifndef EXTRA
#define EXTRA 0
#endif

#define DONE       0 /* pg::Outcome */
#define BUSY       1
#define IS_CHANGED 2
#define LOCKED     3 /* within UpdateNoWait */

#include "server.pml"

/* What a snapshot shows, as sets of jobs. */
typedef Shown {
    byte live; /* have a place in the key */
    byte waiting;
    byte ready;
    byte unverified; /* a part of ready */
    byte leased;
    byte delayed;
};

inline Look() {
    Forget();
    printf("%d: takes a snapshot\n", me);
    for (k : 0 .. JOBS - 1) {
        if
        :: Live(View(k)) -> seen.live = seen.live | Bit(k);
        :: else
        fi;
        if
        :: State(View(k)) == WAITING -> seen.waiting = seen.waiting | Bit(k);
        :: State(View(k)) == READY && Verified(View(k)) -> seen.ready = seen.ready | Bit(k);
        :: State(View(k)) == READY && !Verified(View(k)) ->
            seen.ready = seen.ready | Bit(k);
            seen.unverified = seen.unverified | Bit(k);
        :: State(View(k)) == LEASED -> seen.leased = seen.leased | Bit(k);
        :: State(View(k)) == DELAYED -> seen.delayed = seen.delayed | Bit(k);
        :: else
        fi
    }
}

inline Forget() {
    seen.live = 0;
    seen.waiting = 0;
    seen.ready = 0;
    seen.unverified = 0;
    seen.leased = 0;
    seen.delayed = 0;
}

/* Variables of every process. */
#define LOCALS \
    Shown seen;      /* in the snapshot of the call */ \
    byte left;       /* of the jobs in it, those still to be visited */ \
    byte expired;    /*   and those that were leased */ \
    byte job;        /* the one that the call is about */ \
    byte target;     /* the next one of its key */ \
    byte outcome;    /* pg::Outcome */ \
    bool head, sure; /* what the deleted job was */ \
    bool current;    /* the hand-out is, or: the job is there */ \
    byte calls;      /* of the transaction, so far */ \
    bool failed;     /* the transaction is to be rolled back */

#define MayCall (calls < CALLS && !failed)

inline EndCall() {
    d_step {
        calls++;
        Forget();
        left = 0;
        expired = 0;
        job = 0;
        target = 0;
        outcome = 0;
        head = false;
        sure = false;
        current = false;
    }
}

/* Whether there is a job of which this is true, a macro. What would find none is not started: it changes nothing. */
#if JOBS == 2
#define Some(is) (is(0) || is(1))
#elif JOBS == 3
#define Some(is) (is(0) || is(1) || is(2))
#else
#define Some(is) (is(0) || is(1) || is(2) || is(3))
#endif

/* Any one of the set's jobs, of which there is one. */
inline Pick(set) {
    if
    :: Has(set, 0) -> job = 0;
    :: Has(set, 1) -> job = 1;
    :: Has(set, 2) -> job = 2;
    :: Has(set, 3) -> job = 3;
    fi
}

/*
 * Waits for the row j until the condition holds. Transactions of one call never wait for each other in a circle. Those
 * of more than one can; the server then makes one of them fail: here, the one that closes the circle.
 */
#define Await(condition, j) \
    if \
    :: condition \
    :: !(condition) -> \
        StartWaiting(j); \
        if \
        :: failed \
        :: !failed -> condition; awaits[me] = 0; \
        fi \
    fi

inline StartWaiting(j) {
    d_step {
        awaits[me] = j + 1;
        printf("%d: waits for job %d\n", me, j);
        n = me;
        for (i : 1 .. PROCESSES) {
            n = (n != 0 && awaits[n] != 0 -> BlockerOf(n, awaits[n] - 1) : 0);
            if
            :: n == me ->
                no_deadlock = CALLS > 1;
                assert(no_deadlock);
                failed = true;
                n = 0;
            :: else
            fi
        }
        awaits[me] = (failed -> 0 : awaits[me]);
    }
}

/* ---- keys.cpp ---------------------------------------------------------------------------------------------------- */

#ifdef MUT_PROMOTE_ONLY_WAITING
#define NeedsPromotion(waits, unverified) (waits)
#else
#define NeedsPromotion(waits, unverified) ((waits) || ((unverified) && sure))
#endif

/* target: the next job after j in a fresh snapshot, if it needs promotion, else NONE. */
inline LookForNext(j) {
    d_step {
        n = NONE;
        for (k : 0 .. JOBS - 1) {
            if
            :: n == NONE && k > j && Live(View(k)) -> n = k;
            :: else
            fi
        }
        if
        :: n == NONE -> target = NONE;
        :: n != NONE && NeedsPromotion(State(View(n)) == WAITING, State(View(n)) == READY && !Verified(View(n))) ->
            target = n;
        :: else -> target = NONE;
        fi;
        printf("%d: looks for a job after %d in a new snapshot\n", me, j);
        stale_next[me] = (target == NONE -> 0 : Watch(Bit(target)));
    }
}

/*
 * PromoteNext, after j was deleted. patient: the caller may be made to wait. Who must not wait leaves an unverified job
 * that somebody holds as it is. The transaction can fail before it waits, which for all others is the same as failing
 * while it waits.
 */
inline PromoteNext(j, patient) {
#ifndef MUT_PROMOTE_IN_OLD_SNAPSHOT
    LookForNext(j);
#endif
    do
    :: target == NONE -> break
    :: target != NONE -> failed = true; break
    :: target != NONE ->
        atomic {
            if
            :: Stale(stale_next[me], target) || MayChange(target)
#ifdef MUT_PROMOTE_SKIPS_BUSY
            :: else -> break
#else
#ifndef MUT_PROMOTE_AWAITS_UNVERIFIED
            :: !patient && State(row[target]) == READY && !Stale(stale_next[me], target) && !MayChange(target) -> break
#endif
            :: else ->
                d_step {
                    never_waits = patient;
                    assert(never_waits);
                }
#endif
            fi;
            Await(Stale(stale_next[me], target) || MayChange(target), target);
            if
            :: failed -> break
            :: !failed && Stale(stale_next[me], target) ->
#ifdef MUT_PROMOTE_LOOKS_ONCE
                break
#else
                LookForNext(j)
#endif
            :: else ->
                d_step { Make(target, ALL_BUT_VERIFIED, READY | (sure * VERIFIED)); };
                break
            fi
        }
    od
}

/* ---- archive.cpp ------------------------------------------------------------------------------------------------- */

/* MoveToArchive of a row that may be deleted at once. What it was is read from the version that is deleted. */
inline Delete(j) {
    d_step {
        head = IsHead(View(j));
        sure = Verified(View(j));
#ifdef MUT_CANCELLED_HEAD_IS_SURE
        sure = true;
#endif
        Remove(j);
    }
}

/* The rest of Leave. In between the transaction can fail. */
inline AfterDelete(j, patient) {
    if
    :: head -> PromoteNext(j, patient)
    :: head -> failed = true;
    :: !head
    fi
}

/* Locks the job that PromoteNext will have to change. */
inline HoldNext(j) {
    sure = Verified(View(j));
    LookForNext(j);
    if
    :: target != NONE ->
        LockNoWait(target, NO_KEY, stale_next[me]);
        if
        :: outcome == IS_CHANGED -> outcome = BUSY;
        :: else
        fi
    :: else -> outcome = DONE;
    fi
}

/* LeaveNoWait of the row that the snapshot of the call shows. */
inline LeaveNoWait(j) {
#ifdef MUT_NEXT_IS_HELD_FIRST
    if
    :: IsHead(View(j)) -> HoldNext(j)
    :: else -> outcome = DONE;
    fi;
    if
    :: outcome == DONE -> LockNoWait(j, FULL, stale_call[me])
    :: else
    fi;
#else
    LockNoWait(j, FULL, stale_call[me]);
#ifndef MUT_NEXT_IS_NOT_HELD
    if
    :: outcome == DONE && IsHead(View(j)) -> HoldNext(j)
    :: else
    fi;
#endif
#endif
    if
    :: outcome == DONE ->
#ifdef MUT_PROMOTE_IN_OLD_SNAPSHOT
        LookForNext(j);
#endif
        Delete(j);
        AfterDelete(j, false)
    :: else
    fi
}

/* ---- timer.cpp --------------------------------------------------------------------------------------------------- */

/*
 * RunTimers, but for scheduled jobs: see Append. Left open is which jobs are due, in what order, and for which of them
 * it was the last attempt.
 */
inline RunTimers() {
    d_step {
        Look();
        left = seen.leased | seen.delayed;
        expired = seen.leased;
        stale_call[me] = Watch(left);
        Forget();
    };
    do
    :: left != 0 && !failed ->
        Pick(left);
        left = left & ~Bit(job);
        if
        :: UpdateNoWait(job, ALL, READY, stale_call[me]) /* MakeReady */
        :: Has(expired, job) -> LeaveNoWait(job)
        fi
    :: break
    od
}

/* ---- append.cpp -------------------------------------------------------------------------------------------------- */

/* last: the last job of the key in a snapshot taken now, or NONE. Nothing else is asked of the appender's snapshot. */
inline Renew() {
    last = NONE;
    printf("%d: takes a snapshot for appending\n", me);
    for (k : 0 .. JOBS - 1) {
        if
        :: Live(View(k)) -> last = k;
        :: else
        fi
    }
    stale_append[me] = (last == NONE -> 0 : Watch(Bit(last)));
    renew = false;
}

inline Hold(j) {
#ifdef MUT_HOLD_LOCKS_AT_ONCE
    outcome = DONE;
#else
    StandingOf(j, stale_append[me]);
#endif
    if
    :: outcome == DONE ->
#ifndef MUT_HOLD_TAKES_NO_LOCK
        LockShareNoWait(j, stale_append[me]);
#endif
#ifndef MUT_HOLD_LOOKS_ONCE
        if
        :: outcome == DONE -> StandingOf(j, stale_append[me])
        :: else
        fi
#endif
    :: else
    fi
}

#ifdef MUT_BUSY_IS_BEHIND
#define PERHAPS_HEAD (WAITING | VERIFIED)
#else
#ifdef MUT_BUSY_IS_HEAD
#define PERHAPS_HEAD (READY | VERIFIED)
#else
#define PERHAPS_HEAD READY
#endif
#endif

inline FindPlace() {
    do
    :: known -> place = WAITING | VERIFIED; break
    :: !known ->
        if
        :: renew -> d_step { Renew(); };
        :: !renew
        fi;
        if
        :: last == NONE -> place = READY | VERIFIED; break
        :: else ->
            Hold(last);
            if
            :: outcome == DONE -> place = WAITING | VERIFIED; break
            :: outcome == BUSY -> place = PERHAPS_HEAD; break
            :: outcome == IS_CHANGED -> renew = true;
            fi
        fi
    od
}

/*
 * Append of the next job. PlaceScheduled, if it is a scheduled one: then somebody may be cancelling it, and it gets its
 * place later.
 */
inline Append() {
    d_step {
        job = at;
        at++;
#ifdef MUT_TWO_WRITERS
        next = at;
#endif
#ifdef PLANNED
        stale_call[me] = (row[job] == SCHEDULED -> Watch(Bit(job)) : 0);
#endif
        current = row[job] != GONE;
    };
    if
    :: current ->
        FindPlace();
        if
        :: row[job] == ABSENT -> d_step { Make(job, NOTHING, place); outcome = DONE; }
        :: row[job] != ABSENT -> UpdateNoWait(job, NOTHING, place, stale_call[me])
        fi;
        if
        :: outcome == DONE -> known = true;
        :: outcome == BUSY -> at = job; added = BATCH - 1;
        :: outcome == IS_CHANGED
        fi;
#ifdef FORGET
        if
        :: known = false; renew = true;
        :: skip
        fi;
#endif
        place = 0;
    :: !current
    fi;
    added++;
}

/* CancelNow of a job that the enqueuer finds live, and ForgetAppended. */
inline CancelNow() {
    d_step {
        Look();
        stale_call[me] = Watch(seen.live);
        outcome = BUSY;
    };
    if
    :: seen.live != 0 ->
        Pick(seen.live);
        Forget();
        LeaveNoWait(job)
    :: seen.live == 0
    fi;
#ifndef MUT_APPENDER_REMEMBERS
    if
    :: outcome == DONE -> known = false; renew = true;
    :: else
    fi
#endif
}

/* ---- finish.cpp, lease.cpp --------------------------------------------------------------------------------------- */

#define IsCurrent(j) (Live(View(j)) && Held(View(j)) && Holder(View(j)) == me)

/* A round of ChangeCurrent up to the change: a snapshot, and whether it shows the hand-out. If not: PQ001. */
inline FindCurrent(j) {
    d_step {
        current = IsCurrent(j);
        printf("%d: looks in a new snapshot for its job %d\n", me, j);
        failed = failed || !current;
        lost = (current -> 0 : Bit(j));
        stale_call[me] = (current -> Watch(Bit(j)) : 0);
        sure = true;
    };
#ifdef MUT_PROMOTE_IN_OLD_SNAPSHOT
    LookForNext(j);
#endif
}

#ifdef MUT_COMPLETE_TAKES_ANY_VERSION
#define Replaced(j) (MayDelete(j) && !Live(row[j]))
#else
#define Replaced(j) Stale(stale_call[me], j)
#endif

/* Complete; Fail at the last attempt. */
inline Complete(j) {
    FindCurrent(j);
    do
    :: !current -> break
    :: current ->
        atomic {
            Await(Replaced(j) || MayDelete(j), j);
            if
            :: failed -> break
            :: !failed && Replaced(j) -> FindCurrent(j)
            :: else ->
                d_step {
                    hand_out_is_current = IsCurrent(j);
                    assert(hand_out_is_current);
                };
                Delete(j);
                break
            fi
        }
    od;
    if
    :: current && !failed -> AfterDelete(j, true); hand = hand & ~Bit(j);
    :: else
    fi
}

/* Fail with a retry, Release, Extend. A job that waits for its retry stays the head. */
inline Change(j, keep, add) {
    FindCurrent(j);
    do
    :: !current -> break
    :: current ->
        atomic {
            Await(Stale(stale_call[me], j) || MayChange(j), j);
            if
            :: failed -> break
            :: !failed && Stale(stale_call[me], j) -> FindCurrent(j)
            :: else ->
                d_step {
                    Make(j, keep, add);
                    hand = (Held(made[j]) -> hand : hand & ~Bit(j));
                };
                break
            fi
        }
    od
}

/* ---- claim.cpp --------------------------------------------------------------------------------------------------- */

#ifdef DUE
#define CanStart(j) IsHead(View(j))
#else
#define CanStart(j) (State(View(j)) == READY)
#endif
#define HasEarlier(j) ((seen.live & (Bit(j) - 1)) != 0)

/* Claim. Left open is how many jobs are wanted, and in what order those of a key come: their priorities may differ. */
inline Claim() {
    d_step {
        Look();
        left = seen.ready;
        stale_call[me] = Watch(left);
        if
        :: seen.unverified == 0 -> Forget();
        :: else
        fi
    };
    do
    :: left != 0 ->
        Pick(left);
        left = left & ~Bit(job);
        if
#ifndef MUT_CLAIM_UNCHECKED
        :: Has(seen.unverified, job) && HasEarlier(job)
#ifdef MUT_DEQUEUE_DEMOTES
            -> UpdateNoWait(job, NOTHING, WAITING | VERIFIED, stale_call[me])
#endif
#endif
        :: else ->
            UpdateNoWait(job, NOTHING, LEASED | VERIFIED | HeldBy(me), stale_call[me]);
            hand = hand | (outcome == DONE -> Bit(job) : 0);
        fi
    :: break
    od
}

/* ---- operations.cpp ---------------------------------------------------------------------------------------------- */

#define IsThere(j) (Live(View(j)) || State(View(j)) == SCHEDULED)

/*
 * Cancel, which locks the newest version, whatever the snapshot shows, and looks again if there is none. So the
 * snapshot and the lock can be one step.
 */
inline Cancel(j) {
#ifdef MUT_CANCEL_READS_SNAPSHOT
    seen.live = View(j);
#endif
    do
    :: atomic {
            current = IsThere(j);
            if
            :: !current -> break
            :: current
            fi;
            Await(MayDelete(j), j);
            if
            :: failed -> break
            :: !failed && !IsThere(j)
            :: !failed && IsThere(j) ->
                d_step {
                    changer[j] = me;
                    how[j] = (how[j] < FULL -> FULL : how[j]);
                    printf("%d: locks job %d\n", me, j);
                };
                break
            fi
        }
    od;
    if
    :: current && !failed ->
        Delete(j);
#ifdef MUT_CANCEL_READS_SNAPSHOT
        head = IsHead(seen.live);
        sure = Verified(seen.live);
#endif
        AfterDelete(j, true)
    :: else
    fi
}

/* ---- the processes ----------------------------------------------------------------------------------------------- */

#ifdef PLANNED
#define PLANNED_ROW (JOBS - 1)
#endif

/* What a transaction does can fail at any point; what it has done can be rolled back at its end. */

proctype Enqueuer(byte me) {
    LOCALS
    byte at;           /* the position of the next job, as this transaction has it */
    byte added, extra; /* what it has done so far */
    byte last;         /* Appender: what its snapshot shows */
    bool known, renew; /*   has this transaction added a job of the key; must the snapshot be renewed */
    byte place;        /*   of the job to be added */

end:
    do
    :: d_step { next < JOBS || (EXTRA > 0 && Some(IsThere)); at = next; Renew(); };
        do
        :: at < JOBS && added < BATCH && !failed -> Append(); EndCall()
#ifdef TIMERS
        :: extra < EXTRA && !failed -> extra++; RunTimers(); EndCall()
#endif
#ifdef CANCEL_NOW
        :: extra < EXTRA && !failed -> extra++; CancelNow(); EndCall()
#endif
        :: calls > 0 -> break
        od;
        atomic {
            if
            :: !failed -> next = (at > next -> at : next); Commit()
            :: Abort()
            fi;
            d_step { at = 0; added = 0; extra = 0; last = 0; known = false; renew = false; calls = 0; failed = false; }
        }
    od
}

proctype Worker(byte me) {
    LOCALS
    byte hand; /* the jobs that it has in hand, or believes to have */
    byte kept; /* the same at the start of the transaction */
    byte lost; /* whose hand-out was found not to be current */

    do
    :: kept = hand;
end:
        do
#ifdef DUE
        :: MayCall && Some(CanStart) ->
            RunTimers();
            if
            :: !failed -> Claim()
            :: failed
            fi;
            EndCall()
#else
        :: MayCall && Some(CanStart) -> Claim(); EndCall()
#endif
        :: MayCall && hand != 0 -> Pick(hand); Complete(job); EndCall()
#ifdef RETRIES
        :: MayCall && hand != 0 ->
            Pick(hand);
            Change(job, ALL_BUT_HELD, DELAYED);
#ifdef MUT_RETRY_LETS_GO
            if
            :: current && !failed -> PromoteNext(job, true)
            :: else
            fi;
#endif
            EndCall()
        :: MayCall && hand != 0 -> Pick(hand); Change(job, ALL_BUT_HELD, READY); EndCall()
        :: MayCall && hand != 0 -> Pick(hand); Change(job, ALL, LEASED); EndCall()
#endif
#ifdef MIXED
        :: MayCall && Some(IsThere) -> Pick(Bit(JOBS) - 1); Cancel(job); EndCall()
#endif
        :: calls > 0 -> break
        od;
        atomic {
            if
            :: !failed -> Commit()
            :: Abort(); hand = kept & ~lost;
            fi;
            d_step { kept = 0; lost = 0; calls = 0; failed = false; }
        }
    od
}

proctype Canceller(byte me) {
    LOCALS

    do
    :: true ->
end:
        do
        :: MayCall && Some(IsThere) -> Pick(Bit(JOBS) - 1); Cancel(job); EndCall()
        :: calls > 0 -> break
        od;
        atomic {
            if
            :: !failed -> Commit()
            :: Abort()
            fi;
            d_step { calls = 0; failed = false; }
        }
    od
}

init {
    byte number = 1;

    atomic {
#ifdef PLANNED
        row[PLANNED_ROW] = SCHEDULED;
#endif
        do
        :: number <= WRITERS -> run Enqueuer(number); number++;
        :: number > WRITERS && number <= WRITERS + WORKERS -> run Worker(number); number++;
        :: number > WRITERS + WORKERS && number <= PROCESSES -> run Canceller(number); number++;
        :: else -> break
        od;
        number = 0;
    }
}
