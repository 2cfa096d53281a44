/*
 * What the server does: rows with versions, row locks, snapshots, transactions. Stands for src/pg/table.cpp and, below
 * that, for heapam.c of PostgreSQL 15.
 *
 * A job is a row, and its number is its position. Of a row's versions only two matter at a time: the newest one that is
 * committed, and what a transaction in progress makes of it, which at most one can do.
 */

#ifdef MUT_TWO_WRITERS
#define WRITERS 2
#else
#define WRITERS 1
#endif
#define PROCESSES (WRITERS + WORKERS + CANCELLERS) /* each has one transaction at a time, and its number, from 1 */

#define NONE JOBS
#define Bit(x) (1 << (x))
#define Has(set, x) (((set) >> (x)) & 1)

/* Work space within a step; no part of the state. */
hidden byte i, k, m, n;

/* ---- versions ---------------------------------------------------------------------------------------------------- */

#define ABSENT    0
#define SCHEDULED 1
#define WAITING   2
#define READY     3
#define LEASED    4
#define DELAYED   5
#define GONE      6

#define VERIFIED  8
#define HELD      16
#define HeldBy(p) (HELD | ((p) << 5)) /* the worker that has the hand-out: stands for the number of the attempt */

#define State(version)    ((version) & 7)
#define Verified(version) (((version) & VERIFIED) != 0)
#define Held(version)     (((version) & HELD) != 0)
#define Holder(version)   ((version) >> 5)

/* What a new version keeps of the one before, beside the state that it sets. */
#define ALL           248
#define ALL_BUT_HELD  VERIFIED
#define ALL_BUT_VERIFIED 240
#define NOTHING       0

/* Has a place in its key: is in the index pgq_job_key. */
#define Live(version)   (State(version) >= WAITING && State(version) <= DELAYED)
#define IsHead(version) (State(version) >= READY && State(version) <= DELAYED)

byte row[JOBS];  /* the newest committed version */
byte made[JOBS]; /* what changer makes of it */
byte next;       /* the position of the next job */

/* ---- locks ------------------------------------------------------------------------------------------------------- */

#define FREE    0
#define NO_KEY  1 /* locked FOR NO KEY UPDATE */
#define FULL    2 /* locked FOR UPDATE */
#define CHANGED 3 /* updated, perhaps deleted after that: KEY SHARE on the version before does not conflict */
#define DELETED 4 /* deleted at once */

byte changer[JOBS];   /* the transaction that locks or changes the row, or 0 */
byte how[JOBS];       /* as what */
byte share[JOBS];     /* transactions that have the row locked FOR KEY SHARE: an update takes such a lock along */
byte share_old[JOBS]; /* those that locked only the version which changer had replaced: worth nothing if it commits */

#define MayChange(j) (changer[j] == 0 || changer[j] == me)
#ifdef MUT_DELETE_IGNORES_SHARE
#define MayDelete(j) MayChange(j)
#else
#define MayDelete(j) (MayChange(j) && (share[j] & ~Bit(me)) == 0)
#endif

/* The row for which a transaction waits, plus 1, or 0; and whom it waits for there. */
byte awaits[PROCESSES + 1];
#define BlockerOf(p, j) \
    ((changer[j] != 0 && changer[j] != (p)) -> changer[j] : (share[j] & Bit(ENQUEUER) -> ENQUEUER : 0))
#define ENQUEUER 1

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

#define MadeByMe(j) (changer[j] == me && how[j] >= CHANGED)

/* The version that a snapshot taken now shows. */
#define View(j) (MadeByMe(j) -> made[j] : row[j])

/*
 * What is asked of a snapshot is computed when it is taken. What remains of it then is which of some rows were changed
 * since, by somebody's commit or by this transaction: it shows a version that has been replaced. So a snapshot is two
 * sets: the rows that this is of interest for, times 16, and the stale ones of them.
 */
#define Watch(rows) ((rows) << 4)
byte stale_append[PROCESSES + 1]; /* the appender's snapshot */
byte stale_call[PROCESSES + 1];   /* that of ChangeCurrent, Claim, RunTimers, TryCancelNow */
byte stale_next[PROCESSES + 1];   /* PromoteNext's */

#define Stale(snapshot, j) Has(snapshot, j)

inline Mark(snapshot, changes) {
    snapshot = snapshot | ((snapshot >> 4) & (changes));
}

inline MarkMine(j) {
    Mark(stale_append[me], Bit(j));
    Mark(stale_call[me], Bit(j));
    Mark(stale_next[me], Bit(j));
}

inline EndSnapshots() {
    stale_append[me] = 0;
    stale_call[me] = 0;
    stale_next[me] = 0;
}

/* ---- what a replayed counterexample prints ----------------------------------------------------------------------- */

inline SayVersion(version) {
    if
    :: State(version) == WAITING -> printf("waiting");
    :: State(version) == READY && Verified(version) -> printf("ready");
    :: State(version) == READY && !Verified(version) -> printf("ready, unverified");
    :: State(version) == LEASED -> printf("leased");
    :: State(version) == DELAYED -> printf("delayed");
    :: State(version) == GONE -> printf("gone");
    :: else
    fi;
    if
    :: Held(version) -> printf(", held by %d", Holder(version));
    :: else
    fi
}

/* ---- what must be true ------------------------------------------------------------------------------------------- */

/* Named so that spin's message says what is violated. */
hidden byte first_does_not_wait, others_are_no_heads, one_is_held;
hidden byte jobs_are_left, no_deadlock, no_earlier_job_is_live, hand_out_is_current, never_waits;

/*
 * True of each committed state, so also when no transaction is open: the first job of the key does not wait. So it can
 * be claimed (ready), be finished or expire (leased), or become due (delayed). The others wait, or are not sure to be
 * heads. At most one job is held. It is what pgq_check() looks for.
 */
inline CheckCommitted() {
    m = NONE; /* the first */
    n = 0;    /* how many are held */
    for (i : 0 .. JOBS - 1) {
        if
        :: Live(row[i]) && m == NONE ->
            m = i;
            first_does_not_wait = State(row[i]) != WAITING;
            assert(first_does_not_wait);
        :: Live(row[i]) && m != NONE ->
            others_are_no_heads = State(row[i]) == WAITING || (State(row[i]) == READY && !Verified(row[i]));
            assert(others_are_no_heads);
        :: else
        fi;
        if
        :: Live(row[i]) && Held(row[i]) -> n++;
        :: else
        fi
    }
    one_is_held = n <= 1;
    assert(one_is_held);
#ifdef MUT_NONE
    /* Not a rule: the model must be able to come to its end. */
    jobs_are_left = m != NONE || next < JOBS;
    assert(jobs_are_left);
#endif
}

/* When a job is handed out, every earlier one is gone, but for what this very transaction has deleted. */
inline CheckStart(j) {
    if
    :: State(made[j]) == LEASED ->
        for (i : 0 .. JOBS - 1) {
            no_earlier_job_is_live = i >= j || !Live(View(i));
            assert(no_earlier_job_is_live);
        }
    :: else
    fi
}

/* ---- the end of a transaction ------------------------------------------------------------------------------------ */

inline Unlock(j) {
    if
    :: changer[j] == me -> changer[j] = 0; how[j] = FREE; made[j] = 0;
    :: else
    fi;
    share[j] = share[j] & ~Bit(me);
    share_old[j] = share_old[j] & ~Bit(me);
}

inline Commit() {
    d_step {
        m = 0; /* what it has changed */
        for (i : 0 .. JOBS - 1) {
            if
            :: MadeByMe(i) ->
                m = m | Bit(i);
                row[i] = made[i];
                share_old[i] = 0;
            :: else
            fi;
            Unlock(i);
        }
        EndSnapshots();
        if
        :: m != 0 -> printf("%d: commits\n", me);
        :: else
        fi;
        for (i : 1 .. PROCESSES) {
            Mark(stale_append[i], m);
            Mark(stale_call[i], m);
            Mark(stale_next[i], m);
        }
        CheckCommitted();
    }
}

inline Abort() {
    d_step {
        for (i : 0 .. JOBS - 1) {
            if
            :: MadeByMe(i) -> share[i] = share[i] | share_old[i]; share_old[i] = 0;
            :: else
            fi;
            Unlock(i);
        }
        EndSnapshots();
        printf("%d: rolls back\n", me);
    }
}

/* ---- changing and locking rows ----------------------------------------------------------------------------------- */

/* Updates the row; within a d_step, and when MayChange. */
inline Make(j, keep, add) {
    made[j] = (View(j) & keep) | add;
    changer[j] = me;
    how[j] = CHANGED;
    printf("%d: makes job %d ", me, j);
    SayVersion(made[j]);
    printf("\n");
    CheckStart(j);
    MarkMine(j);
#ifdef MUT_UPDATE_DROPS_SHARE
    share_old[j] = share_old[j] | share[j];
    share[j] = 0;
#endif
}

/* Deletes the row; within a d_step, and when MayDelete. */
inline Remove(j) {
    if
    :: MadeByMe(j) -> how[j] = CHANGED;
    :: else -> how[j] = DELETED;
    fi;
    made[j] = GONE;
    changer[j] = me;
    printf("%d: deletes job %d\n", me, j);
    MarkMine(j);
}

#define NoLockOn(j) (share[j] == 0 && share_old[j] == 0 && (changer[j] == 0 || MadeByMe(j)))

/*
 * UpdateNoWait(). Unless it is stale, the snapshot shows View(j), of which the new version is made. The update that
 * takes any lock for Busy changes nothing then, so it is one step with the lock that follows.
 */
inline UpdateNoWait(j, keep, add, stale) {
    d_step {
        if
        :: Stale(stale, j) -> outcome = IS_CHANGED;
        :: !Stale(stale, j) && NoLockOn(j) ->
            Make(j, keep, add);
            outcome = DONE;
        :: !Stale(stale, j) && !NoLockOn(j) && MayChange(j) ->
            changer[j] = me;
            how[j] = (how[j] < NO_KEY -> NO_KEY : how[j]);
            printf("%d: locks job %d\n", me, j);
            outcome = LOCKED;
        :: else -> outcome = BUSY;
        fi
    };
    if
    :: outcome == LOCKED -> d_step { Make(j, keep, add); outcome = DONE; };
    :: else
    fi
}

/* Lock() with Wait::No and Version::This, as FULL or NO_KEY. */
inline LockNoWait(j, mode, stale) {
    d_step {
        if
        :: Stale(stale, j) -> outcome = IS_CHANGED;
        :: !Stale(stale, j) && MayChange(j) && (mode == NO_KEY || MayDelete(j)) ->
            changer[j] = me;
            how[j] = (how[j] < mode -> mode : how[j]);
            printf("%d: locks job %d\n", me, j);
            outcome = DONE;
        :: else -> outcome = BUSY;
        fi
    }
}

/*
 * Lock() FOR KEY SHARE with Wait::No and Version::This. It goes by the version that the snapshot shows, also when that
 * was updated since (the lock then means nothing), or is just being updated.
 */
inline LockShareNoWait(j, stale) {
    d_step {
        if
        :: Stale(stale, j) -> outcome = (row[j] == GONE -> IS_CHANGED : DONE);
        :: !Stale(stale, j) && !MayChange(j) && (how[j] == FULL || how[j] == DELETED) -> outcome = BUSY;
        :: !Stale(stale, j) && !MayChange(j) && how[j] == CHANGED ->
            share_old[j] = share_old[j] | (Has(share[j], me) -> 0 : Bit(me));
            printf("%d: shares the old version of job %d\n", me, j);
            outcome = DONE;
        :: else ->
            share[j] = share[j] | Bit(me);
            printf("%d: shares job %d\n", me, j);
            outcome = DONE;
        fi
    }
}

/* StandingOf() the version that the snapshot shows: DONE for Current, BUSY for BeingChanged, IS_CHANGED for Gone. */
inline StandingOf(j, stale) {
    d_step {
        if
        :: Stale(stale, j) -> outcome = IS_CHANGED;
        :: !Stale(stale, j) && !MayChange(j) && how[j] >= CHANGED -> outcome = BUSY;
        :: else -> outcome = DONE;
        fi
    }
}
