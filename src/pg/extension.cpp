// Whether and where the extension is installed: see extension.hpp.
#include "pg/extension.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
}

namespace pgq_ext::pg {

Extension
FindExtension()
{
	Extension extension = {};
	ScanKeyData key;
	Relation relation = table_open(ExtensionRelationId, AccessShareLock);

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("pgq_ext"));
	SysScanDesc scan = systable_beginscan(relation, ExtensionNameIndexId, true, nullptr, 1, &key);
	HeapTuple tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple)) {
		extension.oid = ((Form_pg_extension)GETSTRUCT(tuple))->oid;
		extension.schema = ((Form_pg_extension)GETSTRUCT(tuple))->extnamespace;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return extension;
}

Extension
LockExtension()
{
	Extension extension = FindExtension();

	if (!OidIsValid(extension.oid))
		return extension;
	LockDatabaseObject(ExtensionRelationId, extension.oid, 0, AccessShareLock);
	AcceptInvalidationMessages();
	return FindExtension();
}

} // namespace pgq_ext::pg
