-- The types that columns of the random workload have, and specimens of their values.
CREATE SCHEMA w;

CREATE TYPE w.mood AS ENUM ('sad', 'ok', 'it''s "fine"', '');
CREATE DOMAIN w.short AS varchar(10) CHECK (value <> 'no');
CREATE DOMAIN w.some_ints AS int[];
CREATE TYPE w.pair AS (a int, b text);
CREATE TYPE w.nested AS (p w.pair, ps w.pair[], m w.mood, d w.short, t timestamptz);
CREATE TYPE w.span AS RANGE (subtype = w.short, multirange_type_name = w.spans);

CREATE TABLE w.specimen (type text PRIMARY KEY, literals text[] NOT NULL);

-- Text of n times 32 characters that does not compress.
CREATE FUNCTION w.noise(n int) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i $$;

INSERT INTO w.specimen VALUES
    ('smallint', '{0,-32768,32767}'), ('integer', '{1,-2147483648,2147483647}'), ('bigint', '{5,-9223372036854775808,9223372036854775807}'),
    ('numeric', ARRAY['0', '1.10', '-1e-30', '1e100', 'NaN', 'Infinity', '-Infinity', repeat('9', 4000) || '.5']),
    ('numeric(10,2)', '{0,1.1,-99999999.99,NaN}'),
    ('real', '{0,-0,1.1,3.4e38,1e-45,NaN,Infinity}'), ('double precision', '{0,-0,0.1,1e308,5e-324,NaN,-Infinity}'),
    ('boolean', '{t,f}'), ('money', '{0,-12.34,92233720368547758.07}'), ('oid', '{0,4294967295}'), ('pg_lsn', '{0/0,1/FFFFFFFF}'),
    ('text', ARRAY['', 'x', 'Zoë''s "q\uote" 日本 🙂', E'tab\tline\nend', repeat('compress ', 20000), w.noise(60), w.noise(2000)]),
    ('character varying(20)', ARRAY['', 'twenty characters ..', 'ü']), ('character(5)', '{"","abc","abcde"}'), ('"char"', '{a,""}'), ('name', '{n,""}'),
    ('bytea', ARRAY['', '\x00ff', '\x' || w.noise(50), '\x' || w.noise(1000), '\x' || repeat('00', 100000)]),
    ('json', ARRAY['null', '{"b":1,"a":[1,2.50,"\u00e9"],"b":2}', ' [ ] ', to_json(w.noise(300))::text]),
    ('jsonb', ARRAY['null', '{"b":1,"a":[1,2.50,{"c":null}]}', '1e10', '"x"', to_json(repeat('jsonb', 5000))::text]),
    ('uuid', '{00000000-0000-0000-0000-000000000000,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'),
    ('date', '{2000-01-01,0044-03-15 BC,5874897-12-31,infinity,-infinity}'), ('time without time zone', '{00:00,24:00,12:34:56.789}'),
    ('time with time zone', '{00:00+00,23:59:59.999999-15:59}'),
    ('timestamp without time zone', '{2000-01-01 12:00,4713-01-01 00:00 BC,294276-12-31 23:59:59.999999,infinity,-infinity}'),
    ('timestamp with time zone', '{2000-01-01 12:00+02,4713-01-01 00:00+00 BC,294276-12-31 23:59:59.999999+00,infinity,-infinity}'),
    ('timestamp(0) with time zone', '{2000-01-01 12:00:00.6+02}'),
    ('interval', '{0,1 year 2 mons -3 days 04:05:06.789,-178000000 years}'),
    ('inet', '{10.1.2.3/8,::1,::ffff:1.2.3.4/128}'), ('cidr', '{10.0.0.0/8,2001:db8::/32}'), ('macaddr', '{08:00:2b:01:02:03}'), ('macaddr8', '{08:00:2b:01:02:03:04:05}'),
    ('bit(3)', '{101,000}'), ('bit varying', ARRAY['', '1', repeat('10', 3000)]),
    ('point', '{"(1,2)","(NaN,-0)"}'), ('line', '{"{1,2,3}"}'), ('lseg', '{"[(1,2),(3,4)]"}'), ('box', '{"(3,4),(1,2)"}'),
    ('path', '{"[(1,2),(3,4)]","((1,2),(3,4))"}'), ('polygon', '{"((0,0),(1,1),(2,0))"}'), ('circle', '{"<(1,2),3>"}'),
    ('tsvector', ARRAY['', '''cat'':3A ''it''''s'':1,2']), ('tsquery', ARRAY['', '''fat'' & ( ''rat'':AB | !''cat'' )']),
    ('int4range', '{empty,"[1,5)","(,)","[3,]"}'), ('numrange', '{"(1.5,2.50]",empty}'), ('tstzrange', '{"[2000-01-01 00:00+00,infinity)"}'), ('daterange', '{"[2000-01-01,2001-01-01]"}'),
    ('int8multirange', '{"{}","{[1,3),[5,9]}"}'), ('nummultirange', '{"{(,1],[2,)}"}'), ('w.span', '{"[a,b)",empty}'), ('w.spans', '{"{[a,b),[x,y]}"}'),
    ('jsonpath', '{$.a[*] ? (@ > 1)}'), ('regclass', '{pg_class}'), ('regtype', '{integer}'), ('xid8', '{18446744073709551615}'), ('pg_snapshot', '{"10:20:10,14"}'),
    ('w.mood', ARRAY['sad', 'it''s "fine"', '']), ('w.short', ARRAY['', 'ab', 'yes']), ('w.some_ints', '{"{1,NULL,3}","{}"}'),
    ('w.pair', ARRAY['(1,x)', '(,)', '(2,"a ""b"", c")']),
    ('w.nested', ARRAY['("(1,x)","{""(2,y)"",NULL}",sad,yes,"2000-01-01 00:00+00")', '(,,,,)', '("(3,' || repeat('long', 3000) || ')",{},ok,,infinity)']);

-- XML is a matter of how the server was built.
DO $$ BEGIN
    PERFORM '<a/>'::xml;
    INSERT INTO w.specimen VALUES ('xml', ARRAY['<a b="1">t</a>', 'text', '<r>' || repeat('<x/>', 2000) || '</r>']);
EXCEPTION WHEN feature_not_supported THEN
END $$;

-- Arrays of all of them: empty, with NULLs, of two dimensions, and with other bounds.
DO $$
DECLARE
    s w.specimen;
    l text[];
BEGIN
    FOR s IN SELECT * FROM w.specimen WHERE type NOT IN ('w.some_ints') LOOP
        EXECUTE format('SELECT ARRAY[''{}'', (ARRAY[$1[1], NULL, $1[2]]::%1$s[])::text, (ARRAY[[$1[1], NULL], [$1[1], $1[1]]]::%1$s[])::text,'
                       ' ''[-1:0]='' || (ARRAY[$1[1], $1[1]]::%1$s[])::text]', s.type) INTO l USING s.literals;
        INSERT INTO w.specimen VALUES (s.type || '[]', l);
    END LOOP;
END $$;

-- A number from 0 to 999999 that seems to be random, and is the same for the same arguments.
CREATE FUNCTION w.hash(seed int, what text) RETURNS int LANGUAGE sql IMMUTABLE AS
    $$ SELECT (hashtextextended(what, seed) & 1073741823)::int % 1000000 $$;

-- A literal for a value of that type, or NULL.
CREATE FUNCTION w.literal(type_name text, hash int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%L::%s', CASE WHEN hash % 6 > 0 THEN literals[1 + hash / 6 % cardinality(literals)] END, type)
      FROM w.specimen WHERE type = type_name $$;
