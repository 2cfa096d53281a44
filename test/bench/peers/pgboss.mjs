// pg-boss: sets it up, fills it, records its SQL, and lets clients fetch and complete by its API without a pause, which is
// faster than its workers, who poll. Queues with keys have the policy key_strict_fifo.
import { Counter, fill, main, pool, require, write } from './peer.mjs';

const { PgBoss } = require('pg-boss');

// A pg-boss without its maintenance. What it sends to the server also goes to seen.
async function start(max, seen = () => {}) {
    const own = pool(max);
    const db = {
        executeSql(text, values) {
            seen({ text, values });
            return own.query(text, values);
        },
    };
    const boss = new PgBoss({ db, supervise: false, schedule: false });
    boss.on('error', (error) => console.error(error.message));
    await boss.start();
    return boss;
}

const policy = { keyed: 'key_strict_fifo', plain: 'standard' };

await main({
    async setup(kind) {
        await (await start(1)).createQueue('jobs', { policy: policy[kind] });
    },
    async fill(n, key) {
        const boss = await start(1);
        let id = 0;
        await fill(Number(n), key, (keys) =>
            boss.insert('jobs', keys.map((k) => ({ data: { id: ++id, k }, ...(k === null ? {} : { singletonKey: k }) }))));
    },
    async record(directory, kind, batch) {
        let last;
        const boss = await start(2, (statement) => (last = statement));
        await boss.insert('jobs', [{ data: {}, singletonKey: 'k' }]);
        const [job] = await boss.fetch('jobs', { batchSize: Number(batch) });
        const names = (values, name) => (values ?? []).map((value) => (Array.isArray(value) && value[0] === job.id ? name : null));
        write(`${directory}/claim.sql`, last, []);
        await boss.complete('jobs', [job.id]);
        write(`${directory}/complete.sql`, last, names(last.values, 'ids'));
        await boss.deleteAllJobs('jobs');
    },
    async work(kind, seconds, jobs) {
        const boss = await start(4);
        const counter = new Counter(Number(seconds), Number(jobs));
        const loop = async () => {
            for (;;) {
                const batch = await boss.fetch('jobs', { batchSize: kind === 'plain' ? 500 : 50 });
                if (batch.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
                else {
                    await boss.complete('jobs', batch.map((job) => job.id));
                    counter.done(batch.length);
                }
            }
        };
        for (let i = 0; i < 2; i++) loop();
        await counter.print();
    },
});
