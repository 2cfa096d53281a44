// What the drivers of both peers have in common: their command line, the keys of jobs, and recording their SQL.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';

// Packages are installed outside the tree.
export const require = createRequire(process.env.PGQ_BENCH_PEERS + '/');
const pg = require('pg');

export const pool = (max) => new pg.Pool({ max });

// Calls add(keys) for n jobs, whose keys are the SQL expression key over i = 1 .. n, in chunks.
export async function fill(n, key, add) {
    const own = pool(1);
    for (let start = 1; start <= n; start += 5000) {
        const end = Math.min(start + 4999, n);
        const { rows } = await own.query(`SELECT (${key})::text AS key FROM generate_series(${start}, ${end}) i`);
        await add(rows.map((row) => row.key));
    }
    await own.query('VACUUM ANALYZE');
    await own.end();
}

const literal = (value) =>
    value === null || value === undefined ? 'NULL'
        : Array.isArray(value) ? literal('{' + value.join(',') + '}')
            : `'${String(value).replaceAll("'", "''")}'`;

// Writes a recorded statement as SQL for our driver. names[n - 1] is what $n is there; the others become what they were.
export function write(file, { text, values }, names) {
    const sql = text.replace(/\$(\d+)/g, (_, n) => (names[n - 1] ? `{${names[n - 1]}}` : literal(values[n - 1])));
    writeFileSync(file, sql.replace(/;\s*$/, '') + '\n');
}

// Runs the command of the command line; each gets the arguments behind its name.
export async function main(commands) {
    const [name, ...values] = process.argv.slice(2);
    await commands[name](...values);
    process.exit(0);
}

// Counts the jobs that are done within some seconds, from the first on, and prints how many, and from when to when.
export class Counter {
    constructor(seconds, jobs) {
        this.count = 0;
        this.jobs = jobs;
        this.seconds = seconds;
        this.ended = new Promise((resolve) => (this.end = resolve));
    }
    done(n) {
        this.start ??= performance.now();
        this.count += n;
        this.last = performance.now();
        if (this.count >= this.jobs || this.last - this.start > 1000 * this.seconds) this.end();
    }
    async print() {
        const idle = setTimeout(this.end, 2000 * this.seconds + 5000);
        await this.ended;
        clearTimeout(idle);
        const seconds = (time) => (performance.timeOrigin + (time ?? performance.now())) / 1000;
        console.log(`${this.count}\t${seconds(this.start)}\t${seconds(this.last)}`);
    }
}
